// Package policies compiles and runs the CEL expressions that decide about requests: those of
// admission policies, and the match conditions of webhooks. The variables that they may name, the
// types that they must have, their costs and the error texts are those of Kubernetes 1.36.
//
// Words:
//   - A Scope holds what the expressions of one policy may name. Uses says which optional
//     variables, types and functions an expression may name.
//   - Inputs are what expressions see of one request.
//   - A Set is a list of expressions that are evaluated together: they share a budget, and the
//     values of the variables of the policy, each of which is evaluated at most once.
//   - Conditions are a Set that says whether a policy or webhook is for a request. A Mutation is an
//     expression that makes an object to apply or a JSON patch.
//
// Laws:
//   - An Env is made when the first expression needs it. Expressions without variables of a policy
//     share one Env per Uses, for the whole process.
//   - An expression that does not compile is an Expression, too: it fails when it runs, as in
//     Kubernetes.
//   - Objects are read in place; nothing is copied or encoded before an expression reads it
//     (package objects).
//   - A policy of five expressions takes about 13 KiB when it is compiled. A long one takes at most
//     60 bytes per byte of its text, and 70 MB for regular expressions (cel.MaxPatterns). No policy
//     ends the process: variables that refer to themselves are errors, and what would exceed the
//     budget anyway is not evaluated.
//
// The validation of admission policies and webhook configurations (registry/admissionregistration)
// makes a Scope per object and checks its expressions in order. The admission plugins make a Scope
// per policy or webhook, compile its expressions once, and run them for each request. A Scope
// belongs to one goroutine. An Expression, a Set, Conditions and a Mutation are immutable once the
// Scope is no longer used, and any number of goroutines may run them.
//
// Not here: which expressions a policy has (registry/admissionregistration), what happens with
// their results, and which requests they are for (registry/admission).
//
// Read: policies.go, types.go, expression.go, run.go with request.go and variables.go, match.go,
// mutation.go with made.go, typing.go.
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

// Scope holds what the expressions of one policy may name. It belongs to one goroutine.
type Scope struct {
	ctx       context.Context
	variables cel.Structs // the types of variables; nil if the expressions see no variables of a policy
	compiled  *variables  // the variables that Variable has compiled; nil if variables is nil
	envs      map[Uses]*cel.Env
	patterns  cel.Patterns // of all expressions
}

// variablesType is the type of the variable "variables", whose fields are the variables of a
// policy.
const variablesType = "kubernetes.variables"

// New returns a Scope for expressions that see no variables of a policy. After ctx has ended, every
// check is an error.
func New(ctx context.Context) *Scope { return &Scope{ctx: ctx} }

// WithVariables returns a Scope for a policy with variables. Declare adds them one by one, in the
// order of the policy, so that each expression sees the variables before its own.
func WithVariables(ctx context.Context) *Scope {
	return &Scope{
		ctx: ctx, variables: cel.Structs{variablesType: {}}, compiled: &variables{}, envs: map[Uses]*cel.Env{},
	}
}

// Check compiles the expression text, which stands at the path at. results are the types that its
// value may have; none means any type. Check returns the mistake in the expression, nil if there is
// none.
func (s *Scope) Check(at *field.Path, text string, uses Uses, results ...*types.Type) *field.Error {
	_, err := s.compile(at, text, uses, results...)
	return err
}

// Declare checks the expression of a variable, which may have any type, and declares the variable
// for the expressions that are checked later. The variable of an expression that does not compile
// has a dynamic type.
func (s *Scope) Declare(at *field.Path, name, text string, uses Uses) *field.Error {
	t, err := s.compile(at, text, uses)
	s.variables[variablesType][name] = declared(t)
	return err
}

// compile returns the type of an expression, nil if there is an error.
func (s *Scope) compile(at *field.Path, text string, uses Uses, results ...*types.Type) (*types.Type, *field.Error) {
	t, _, err := s.plan(text, uses, results)
	switch {
	case err == nil:
		return t, nil
	case err.internal:
		return nil, field.InternalError(at, err.error)
	}
	return nil, field.Invalid(at, text, err.Error())
}

// A mistake says why an expression does not compile. internal says that the server is at fault, not
// the author of the expression.
type mistake struct {
	error
	internal bool
}

// plan compiles an expression and returns its type and its program.
func (s *Scope) plan(text string, uses Uses, results []*types.Type) (*types.Type, *cel.Program, *mistake) {
	if err := s.ctx.Err(); err != nil {
		return nil, nil, &mistake{err, true}
	}
	env, err := s.env(uses)
	if err != nil {
		return nil, nil, &mistake{err, true}
	}
	x, err := env.CheckOneOf(&s.patterns, text)
	if err != nil {
		return nil, nil, &mistake{err, false}
	}
	if !isOneOf(x.Type(), results) {
		want := fmt.Sprint(results[0])
		if len(results) > 1 {
			want = fmt.Sprintf("one of %v", results)
		}
		return nil, nil, &mistake{fmt.Errorf("must evaluate to %s but got %v", want, x.Type()), false}
	}
	program, err := x.Program()
	if err != nil {
		return nil, nil, &mistake{err, true}
	}
	return x.Type(), program, nil
}

// isOneOf reports whether t is exactly one of several types, or several is empty.
func isOneOf(t *types.Type, several []*types.Type) bool {
	for _, each := range several {
		if t.IsExactType(each) {
			return true
		}
	}
	return len(several) == 0
}

// env returns the Env for an expression with these uses.
func (s *Scope) env(uses Uses) (*cel.Env, error) {
	if s.variables == nil {
		return shared(uses)
	}
	if env, ok := s.envs[uses]; ok {
		return env, nil
	}
	env, err := shared(uses)
	if err == nil {
		env, err = env.Extend(celgo.CustomTypeProvider(s.variables.Over(env.Types())),
			celgo.Variable("variables", celgo.ObjectType(variablesType)))
	}
	if err != nil {
		return nil, err
	}
	s.envs[uses] = env
	return env, nil
}

// shared returns the Env that all expressions with these uses share. It has no variables of a
// policy.
func shared(uses Uses) (*cel.Env, error) {
	made, _ := environments.LoadOrStore(uses, sync.OnceValues(func() (*cel.Env, error) { return extend(uses) }))
	return made.(func() (*cel.Env, error))()
}

var environments sync.Map // Uses to a function that makes the Env once and returns it

// extend makes the Env for expressions with these uses, without variables of a policy.
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
