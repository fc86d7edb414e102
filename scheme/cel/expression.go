package cel

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
)

// An Expression has been parsed, and its types are right.
type Expression struct {
	env *cel.Env
	ast *cel.Ast
}

// Check parses an expression and finds its type. The error is what is wrong, with a line for each mistake and a pointer
// to where it is, as users of kube-apiserver see it.
func (e *Env) Check(expression string) (x *Expression, err error) {
	defer func() {
		if r := recover(); r != nil { // cel-go does so for [?x] where the type of x is not known
			err = fmt.Errorf("compilation failed: internal error: %v", r)
		}
	}()
	ast, issues := e.env.Parse(expression)
	if issues == nil {
		if err := bound(ast.NativeRep().Expr()); err != nil {
			return nil, err
		}
		ast, issues = e.env.Check(ast)
	}
	if issues != nil {
		return nil, errors.New("compilation failed: " + issues.String())
	}
	return &Expression{e.env, ast}, nil
}

// Type returns the type of the expression's value.
func (x *Expression) Type() *cel.Type { return x.ast.OutputType() }

// Uses reports whether the expression names a variable.
func (x *Expression) Uses(variable string) bool {
	for _, ref := range x.ast.NativeRep().ReferenceMap() {
		if ref.Name == variable {
			return true
		}
	}
	return false
}

// Sizes tells how long the value at a path can be at most: characters of a string, bytes, entries of a list or map; false
// if that is not known. A path begins with a variable and goes on with names of fields, "@items" for the elements of a
// list, "@keys" and "@values" for those of a map. It is never empty.
type Sizes func(path []string) (most uint64, known bool)

// Cost estimates the cost of running the expression once: at least and at most, when values are as long as sizes allows.
func (x *Expression) Cost(sizes Sizes) (checker.CostEstimate, error) {
	return x.env.EstimateCost(x.ast, estimator{sizes})
}
