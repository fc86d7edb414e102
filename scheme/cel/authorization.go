package cel

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/names"
)

// The authorizer library of CEL:
// authorizer.group("apps").resource("deployments").check("get").allowed(). It declares the types
// and functions on the way from an Authorizer to a decision. Base includes it; admission policies
// and webhooks bind the variables authorizer and authorizer.requestResource to the values made
// here.

// An Authorizer decides what one principal may do: the user who sent a request, or a service
// account that the expression names.
type Authorizer interface {
	// Authorize decides about one access. An error makes decision.errored() true in the expression.
	Authorize(Access) (allowed bool, reason string, err error)
	// ServiceAccount returns the Authorizer of a service account.
	ServiceAccount(namespace, name string) Authorizer
}

// Access is what an expression asks an Authorizer about: a verb on a path or, if Resource is not
// empty, on a resource.
type Access struct {
	Verb, Path                                    string
	Group, Resource, Subresource, Namespace, Name string
	// FieldSelector and LabelSelector restrict a list or watch. They are the strings of the
	// expression and may be malformed.
	FieldSelector, LabelSelector string
}

// The CEL types on the way from an Authorizer to a decision, with Kubernetes' names. AuthorizerType
// and ResourceCheckType are also the types of variables.
var (
	AuthorizerType    = cel.ObjectType("kubernetes.authorization.Authorizer")
	ResourceCheckType = cel.ObjectType("kubernetes.authorization.ResourceCheck")

	pathCheckType  = cel.ObjectType("kubernetes.authorization.PathCheck")
	groupCheckType = cel.ObjectType("kubernetes.authorization.GroupCheck")
	decisionType   = cel.ObjectType("kubernetes.authorization.Decision")
)

// AuthorizerValue returns a value of AuthorizerType that asks a.
func AuthorizerValue(a Authorizer) ref.Val { return principal{receiver{AuthorizerType}, a} }

// ResourceCheckValue returns a value of ResourceCheckType that asks a about access. access.Verb is
// ignored: the expression chooses the verb.
func ResourceCheckValue(a Authorizer, access Access) ref.Val {
	return check{receiver{ResourceCheckType}, a, access}
}

// A principal is a value of AuthorizerType.
type principal struct {
	receiver
	authorizer Authorizer
}

// A check is a question that an expression builds step by step: a group, then a resource with its
// subresource, namespace, name and selectors; or a path. The CEL type of its receiver tells which
// of these steps was the last.
type check struct {
	receiver
	authorizer Authorizer
	access     Access
}

// A decision is the result of a check.
type decision struct {
	receiver
	allowed bool
	reason  string
	err     error
}

// authorization returns the declarations of the library.
func authorization() []cel.EnvOption {
	return []cel.EnvOption{
		step("path", "authorizer_path", AuthorizerType, pathCheckType, authorizerPath),
		step("group", "authorizer_group", AuthorizerType, groupCheckType, func(p principal, group string) ref.Val {
			return check{receiver{groupCheckType}, p.authorizer, Access{Group: group}}
		}),
		cel.Function("serviceAccount", cel.MemberOverload("authorizer_serviceaccount",
			[]*cel.Type{AuthorizerType, cel.StringType, cel.StringType}, AuthorizerType,
			cel.FunctionBinding(serviceAccount))),
		step("resource", "groupcheck_resource", groupCheckType, ResourceCheckType, groupResource),
		narrow("subresource", "resourcecheck_subresource", func(a *Access) *string { return &a.Subresource }),
		narrow("namespace", "resourcecheck_namespace", func(a *Access) *string { return &a.Namespace }),
		narrow("name", "resourcecheck_name", func(a *Access) *string { return &a.Name }),
		narrow("fieldSelector", "authorizer_fieldselector", func(a *Access) *string { return &a.FieldSelector }),
		narrow("labelSelector", "authorizer_labelselector", func(a *Access) *string { return &a.LabelSelector }),
		step("check", "pathcheck_check", pathCheckType, decisionType, decide),
		step("check", "resourcecheck_check", ResourceCheckType, decisionType, decide),
		decisionField("allowed", cel.BoolType, func(d decision) ref.Val { return types.Bool(d.allowed) }),
		decisionField("reason", cel.StringType, func(d decision) ref.Val { return types.String(d.reason) }),
		decisionField("errored", cel.BoolType, func(d decision) ref.Val { return types.Bool(d.err != nil) }),
		decisionField("error", cel.StringType, func(d decision) ref.Val {
			if d.err == nil {
				return types.String("")
			}
			return types.String(d.err.Error())
		}),
	}
}

// step declares a function that takes one of these values and a string and returns the next value.
func step[V ref.Val](name, id string, from, to *cel.Type, f func(V, string) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(id, []*cel.Type{from, cel.StringType}, to,
		cel.BinaryBinding(func(first, second ref.Val) ref.Val {
			v, ok := first.(V)
			s, isText := second.Value().(string)
			if !ok || !isText || v.Type() != from {
				return types.MaybeNoSuchOverloadErr(first)
			}
			return f(v, s)
		})))
}

// narrow declares a function that sets one field of a resource check.
func narrow(name, id string, field func(*Access) *string) cel.EnvOption {
	return step(name, id, ResourceCheckType, ResourceCheckType, func(c check, s string) ref.Val {
		*field(&c.access) = s
		return c
	})
}

// decisionField declares a function that reads a decision.
func decisionField(name string, to *cel.Type, get func(decision) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload("decision_"+name, []*cel.Type{decisionType}, to,
		cel.UnaryBinding(func(arg ref.Val) ref.Val {
			d, ok := arg.(decision)
			if !ok {
				return types.MaybeNoSuchOverloadErr(arg)
			}
			return get(d)
		})))
}

// authorizerPath implements authorizer.path(). The error texts here are Kubernetes'.
func authorizerPath(p principal, path string) ref.Val {
	if strings.TrimSpace(path) == "" {
		return types.NewErr("path must not be empty")
	}
	return check{receiver{pathCheckType}, p.authorizer, Access{Path: path}}
}

// serviceAccount implements authorizer.serviceAccount().
func serviceAccount(args ...ref.Val) ref.Val {
	p, ok := args[0].(principal)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	namespace, ok := args[1].Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[1])
	}
	name, ok := args[2].Value().(string)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[2])
	}
	if len(names.IsDNS1123Subdomain(name)) > 0 {
		return types.NewErr("Invalid service account name")
	}
	if len(names.IsDNS1123Label(namespace)) > 0 {
		return types.NewErr("Invalid service account namespace")
	}
	return AuthorizerValue(p.authorizer.ServiceAccount(namespace, name))
}

// groupResource implements resource() of a group check.
func groupResource(c check, resource string) ref.Val {
	if strings.TrimSpace(resource) == "" {
		return types.NewErr("resource must not be empty")
	}
	c.typ, c.access.Resource = ResourceCheckType, resource
	return c
}

// decide implements check(): it asks the Authorizer.
func decide(c check, verb string) ref.Val {
	c.access.Verb = verb
	allowed, reason, err := c.authorizer.Authorize(c.access)
	return decision{receiver{decisionType}, allowed, reason, err}
}

// A receiver is the part of these values that implements ref.Val. Such a value has functions and
// nothing else: it cannot be compared or converted.
type receiver struct{ typ *cel.Type }

func (receiver) opaque() {}

// Type implements ref.Val.
func (r receiver) Type() ref.Type { return r.typ }

// Value implements ref.Val.
func (r receiver) Value() any { return types.NoSuchOverloadErr() }

// ConvertToNative implements ref.Val.
func (r receiver) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", r.typ, want)
}

// ConvertToType implements ref.Val.
func (r receiver) ConvertToType(want ref.Type) ref.Val {
	if want == types.TypeType {
		return r.typ
	}
	return types.NewErr("type conversion error from '%s' to '%s'", r.typ, want)
}

// Equal implements ref.Val.
func (r receiver) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }
