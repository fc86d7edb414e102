package policies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/objects"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file runs expressions: it evaluates a Set with Inputs. The activation of one evaluation
// resolves the variables that the expressions name. The admission plugins call Set.Evaluate;
// Conditions.Match and Mutation run their Sets by evaluate.

// Inputs are what the expressions of a policy see of one request. All of it is read-only while they
// run. It is not copied.
type Inputs struct {
	// Object and OldObject are in the version that the policy asks for, with apiVersion and kind.
	// nil is null for expressions.
	Object, OldObject meta.Typed
	// Params is the object that parametrizes the policy; nil is null.
	Params meta.Typed
	// Namespace is the namespace of the object; nil is null, for objects outside of namespaces and
	// for match conditions.
	Namespace *corev1.Namespace
	// Request describes the request. It is not nil.
	Request *Request
	// Authorizer answers the checks of expressions. With nil, the variables authorizer and
	// authorizer.requestResource do not exist, also for expressions that may name them.
	Authorizer cel.Authorizer
}

// A Set is a list of expressions that share the variables of their policy and a budget. It is
// immutable and safe for concurrent use.
type Set struct {
	variables   *variables // nil if the expressions see no variables of a policy
	expressions []*Expression
}

// Set returns a Set of expressions that the Scope has compiled. A nil Expression has an empty
// Result. Expressions see all variables that the Scope has declared when they run.
func (s *Scope) Set(expressions ...*Expression) *Set {
	return &Set{s.compiled, expressions}
}

// Result is the outcome of one expression. At most one of Value and Err is set.
type Result struct {
	Value ref.Val
	Err   error // the expression does not compile, or it failed; the text is Kubernetes'
	Took  time.Duration
}

// ErrBudget is the error of an evaluation that cost more than its budget had left.
var ErrBudget = cel.ErrBudget

// Evaluate runs the expressions in order. It subtracts from budget their costs and those of the
// variables that they read. A variable is evaluated when an expression reads it first, once for the
// whole evaluation. There is one Result per expression. If the budget does not suffice, there are
// none, and the error is ErrBudget.
func (s *Set) Evaluate(ctx context.Context, in *Inputs, budget *cel.Budget) ([]Result, error) {
	results := make([]Result, len(s.expressions))
	if err := s.evaluate(ctx, in, budget, results); err != nil {
		return nil, err
	}
	return results, nil
}

// evaluate does the work of Evaluate. It stores the results in a slice of the caller.
func (s *Set) evaluate(ctx context.Context, in *Inputs, budget *cel.Budget, results []Result) error {
	a := &activation{in: in, ctx: ctx, budget: budget}
	if s.variables != nil {
		a.variables = &lazyVariables{all: s.variables, of: a}
	}
	for i, x := range s.expressions {
		if x == nil {
			continue
		}
		if err := a.run(x, &results[i]); err != nil {
			return err
		}
	}
	return nil
}

// run runs one expression. The error is ErrBudget.
func (a *activation) run(x *Expression, result *Result) error {
	if x.err != nil {
		result.Err = fmt.Errorf("compilation error: %w", x.err)
		return nil
	}
	begin := time.Now()
	a.spent = 0
	value, err := x.program.Run(a.ctx, a, a.budget)
	result.Took = time.Since(begin)
	if errors.Is(err, cel.ErrBudget) || a.spent > *a.budget {
		*a.budget = -1
		return ErrBudget
	}
	*a.budget -= a.spent
	if err != nil {
		result.Err = fmt.Errorf("expression '%s' resulted in error: %w", x.text, err)
		return nil
	}
	result.Value = value
	return nil
}

// An activation gives the expressions of one evaluation their variables. It belongs to one
// goroutine.
type activation struct {
	in        *Inputs
	ctx       context.Context
	budget    *cel.Budget
	variables *lazyVariables // nil if there is no variable "variables"
	// spent is the cost of the variables of the policy that were evaluated since the present
	// expression began.
	spent cel.Budget
	// depth is the number of variables that are being evaluated, each because the one before reads
	// it.
	depth int
	view  objects.View
	// namespace is the value of namespaceObject, once it has been read.
	namespace *corev1.Namespace
}

// Parent implements celgo.Activation.
func (a *activation) Parent() celgo.Activation { return nil }

// ResolveName implements celgo.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case "object":
		return a.view.Value(a.in.Object), true
	case "oldObject":
		return a.view.Value(a.in.OldObject), true
	case "params":
		return a.view.Value(a.in.Params), true
	case "request":
		return a.view.Value(a.in.Request), true
	case "namespaceObject":
		return a.namespaceObject(), true
	case "variables":
		return a.variables, a.variables != nil
	}
	if a.in.Authorizer == nil {
		return nil, false
	}
	switch name {
	case "authorizer":
		return cel.AuthorizerValue(a.in.Authorizer), true
	case "authorizer.requestResource":
		return cel.ResourceCheckValue(a.in.Authorizer, a.in.Request.access()), true
	}
	return nil, false
}

// namespaceObject returns the value of the variable. Like Kubernetes it shows neither apiVersion
// and kind nor the owners and managers of the namespace.
func (a *activation) namespaceObject() any {
	if a.in.Namespace == nil {
		return nil
	}
	if a.namespace == nil {
		shown := *a.in.Namespace
		shown.TypeMeta = meta.TypeMeta{}
		shown.SelfLink, shown.OwnerReferences, shown.ManagedFields = "", nil, nil
		a.namespace = &shown
	}
	return a.view.Value(a.namespace)
}

// unlimited is a budget that no run exceeds: CallLimit bounds each run.
const unlimited cel.Budget = math.MaxInt64
