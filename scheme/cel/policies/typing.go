package policies

import (
	"errors"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/schema"
)

// This file checks expressions of policies against the types of objects. No policy is refused for
// the mistakes that it finds: the loop in server/loops/typechecks writes them into the status.

// Typed is a kind of objects whose type is known.
type Typed struct {
	// Name is the name of the type in messages.
	Name string
	// Schema describes whole objects. If it is nil, the type is dynamic.
	Schema *schema.Schema
}

// Typing holds what the expressions of a validating policy may name, for objects of one kind. It
// belongs to one goroutine.
type Typing struct {
	env       *cel.Env
	variables cel.Structs
}

// NewTyping returns the Typing for objects of a kind. params is the kind of the parameters, nil if
// the policy takes none. As in kube-apiserver, the variables do not include
// authorizer.requestResource.
func NewTyping(object Typed, params *Typed) (*Typing, error) {
	base := cel.Base()
	provider := reviewed.Over(base.Types())
	declare := func(t Typed) *types.Type {
		if t.Schema == nil {
			return celgo.DynType
		}
		var declared *types.Type
		declared, provider = rules.Declare(t.Schema, t.Name, provider)
		return declared
	}
	is := declare(object)
	options := []celgo.EnvOption{
		celgo.Variable("object", is), celgo.Variable("oldObject", is),
		celgo.Variable("namespaceObject", celgo.ObjectType("kubernetes.Namespace")),
		celgo.Variable("request", celgo.ObjectType("kubernetes.AdmissionRequest")),
		celgo.Variable("authorizer", cel.AuthorizerType),
		celgo.Variable("variables", celgo.ObjectType(variablesType)),
	}
	if params != nil {
		options = append(options, celgo.Variable("params", declare(*params)))
	}
	t := &Typing{variables: cel.Structs{variablesType: {}}}
	env, err := base.Extend(append(options, celgo.CustomTypeProvider(t.variables.Over(provider)))...)
	t.env = env
	return t, err
}

// Declare declares a variable of the policy for the expressions that are checked later. If its own
// expression does not compile, it has a dynamic type.
func (t *Typing) Declare(name, text string) {
	var of *types.Type
	if x, err := t.env.Check(text); err == nil {
		of = x.Type()
	}
	t.variables[variablesType][name] = declared(of)
}

// Check returns the mistakes in the types of an expression, nil if there are none. The expression
// may have any type.
func (t *Typing) Check(text string) error {
	_, err := t.env.Check(text)
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "compilation failed: ")) // Kubernetes leaves it out here
}
