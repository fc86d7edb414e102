// Package policies compiles the expressions that decide about requests: those of admission
// policies, and the conditions under which webhooks are called. What they may name, the types that
// they must have, and the words about what is wrong are those of Kubernetes 1.36.
//
// A Scope is for the expressions of one policy. Environments are made when the first expression
// needs them; those without variables of a policy are shared by all.
//
// Not here: which expressions a policy has (registry/admissionregistration), and their evaluation.
//
// Read: policies.go, types.go.
package policies

import (
	"context"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/field"
)

// Uses says what an expression may name beside object, oldObject, request and namespaceObject.
type Uses struct {
	Params     bool // params
	Authorizer bool // authorizer and authorizer.requestResource
	Patches    bool // the types Object and JSONPatch, and the function jsonpatch.escapeKey
}

// Scope has what the expressions of one policy may name. It belongs to one goroutine.
type Scope struct {
	ctx       context.Context
	variables cel.Structs // nil if there are none
	envs      map[Uses]*cel.Env
}

// variablesType is the type of the variable through which expressions see those of their policy.
const variablesType = "kubernetes.variables"

// New returns the scope of expressions that see no variables of a policy. Once ctx has ended
// nothing is compiled any more.
func New(ctx context.Context) *Scope { return &Scope{ctx: ctx} }

// WithVariables returns a scope with variables, of which Declare adds one after the other.
func WithVariables(ctx context.Context) *Scope {
	return &Scope{ctx: ctx, variables: cel.Structs{variablesType: {}}, envs: map[Uses]*cel.Env{}}
}

// Check compiles an expression that stands at a path and has to have one of some types, and says
// what is wrong with it.
func (s *Scope) Check(at *field.Path, text string, uses Uses, results ...*types.Type) *field.Error {
	_, err := s.compile(at, text, uses, results...)
	return err
}

// Declare is Check of a variable, which may be of any type, and declares it. The type of one that
// does not compile is not known.
func (s *Scope) Declare(at *field.Path, name, text string, uses Uses) *field.Error {
	t, err := s.compile(at, text, uses)
	s.variables[variablesType][name] = declared(t)
	return err
}

// compile returns the type of an expression, nil if it has none.
func (s *Scope) compile(at *field.Path, text string, uses Uses, results ...*types.Type) (*types.Type, *field.Error) {
	if err := s.ctx.Err(); err != nil {
		return nil, field.InternalError(at, err)
	}
	env, err := s.env(uses)
	if err != nil {
		return nil, field.InternalError(at, err)
	}
	x, err := env.Check(text)
	if err != nil {
		return nil, field.Invalid(at, text, err.Error())
	}
	if !isOneOf(x.Type(), results) {
		want := fmt.Sprint(results[0])
		if len(results) > 1 {
			want = fmt.Sprintf("one of %v", results)
		}
		return nil, field.Invalid(at, text, fmt.Sprintf("must evaluate to %s but got %v", want, x.Type()))
	}
	if _, err := x.Program(); err != nil {
		return nil, field.InternalError(at, err)
	}
	return x.Type(), nil
}

// isOneOf reports whether a type is one of several, of which none stands for any.
func isOneOf(t *types.Type, several []*types.Type) bool {
	for _, each := range several {
		if t.IsExactType(each) {
			return true
		}
	}
	return len(several) == 0
}

// env returns the environment for what an expression uses.
func (s *Scope) env(uses Uses) (*cel.Env, error) {
	if s.variables == nil {
		return shared(uses)
	}
	if env, ok := s.envs[uses]; ok {
		return env, nil
	}
	env, err := shared(uses)
	if err == nil {
		env, err = env.Extend(celgo.CustomTypeProvider(s.variables.Over(env.Types())), celgo.Variable("variables", celgo.ObjectType(variablesType)))
	}
	if err != nil {
		return nil, err
	}
	s.envs[uses] = env
	return env, nil
}

// shared returns the environment that all expressions with these uses share. It lacks the variables
// that a policy declares itself.
func shared(uses Uses) (*cel.Env, error) {
	made, _ := environments.LoadOrStore(uses, sync.OnceValues(func() (*cel.Env, error) { return extend(uses) }))
	return made.(func() (*cel.Env, error))()
}

var environments sync.Map // of functions that return the environment for some Uses

func extend(uses Uses) (*cel.Env, error) {
	base := cel.Base()
	provider := reviewed.Over(base.Types())
	options := []celgo.EnvOption{
		celgo.Variable("object", celgo.DynType), celgo.Variable("oldObject", celgo.DynType),
		celgo.Variable("namespaceObject", celgo.ObjectType("kubernetes.Namespace")),
		celgo.Variable("request", celgo.ObjectType("kubernetes.AdmissionRequest")),
	}
	if uses.Params {
		options = append(options, celgo.Variable("params", celgo.DynType))
	}
	if uses.Authorizer {
		options = append(options, celgo.Variable("authorizer", cel.AuthorizerType),
			celgo.Variable("authorizer.requestResource", cel.ResourceCheckType))
	}
	if uses.Patches {
		provider = patches{provider}
		options = append(options, cel.JSONPatch())
	}
	return base.Extend(append(options, celgo.CustomTypeProvider(provider))...)
}
