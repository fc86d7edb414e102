package cel

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// An Expression is parsed and type-checked.
type Expression struct {
	env *cel.Env
	ast *cel.Ast
}

// Check parses an expression and checks its types. The error describes each mistake on a line of
// its own with a pointer to its position, in the form of kube-apiserver.
func (e *Env) Check(expression string) (*Expression, error) {
	return e.CheckOneOf(&Patterns{}, expression)
}

// CheckOneOf is Check for one of several expressions that are kept together, whose regular
// expressions are bounded together.
func (e *Env) CheckOneOf(all *Patterns, expression string) (x *Expression, err error) {
	defer func() {
		// cel-go panics for [?x] if the type of x is unknown.
		if r := recover(); r != nil {
			err = fmt.Errorf("compilation failed: internal error: %v", r)
		}
	}()
	ast, issues := e.env.Parse(expression)
	if issues == nil {
		if err := all.bound(ast.NativeRep().Expr()); err != nil {
			return nil, err
		}
		ast, issues = e.env.Check(ast)
	}
	if issues != nil {
		return nil, errors.New("compilation failed: " + issues.String())
	}
	return &Expression{e.env, ast}, nil
}

// Type returns the type of the value of the expression.
func (x *Expression) Type() *cel.Type { return x.ast.OutputType() }

// Uses reports whether the expression names the variable.
func (x *Expression) Uses(variable string) bool {
	for _, ref := range x.ast.NativeRep().ReferenceMap() {
		if ref.Name == variable {
			return true
		}
	}
	return false
}

// Selects reports whether the expression selects a field of a variable by its name: variable.field
// or variable.?field.
func (x *Expression) Selects(variable, field string) bool {
	named := func(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == variable }
	found := false
	ast.PreOrderVisit(x.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			s := e.AsSelect()
			found = found || s.FieldName() == field && named(s.Operand())
		case ast.CallKind:
			call := e.AsCall()
			if args := call.Args(); call.FunctionName() == operators.OptSelect && len(args) == 2 && named(args[0]) {
				name, ok := args[1].AsLiteral().(types.String)
				found = found || ok && string(name) == field
			}
		}
	}))
	return found
}

// Sizes returns the largest size that the value at a path can have: characters of a string, bytes,
// entries of a list or map. known is false if there is no bound. A path begins with a variable and
// continues with field names, "@items" for the elements of a list, and "@keys" and "@values" for
// those of a map. It is never empty.
type Sizes func(path []string) (most uint64, known bool)

// Cost estimates the least and the greatest cost of running the expression once, if values are at
// most as large as sizes says.
func (x *Expression) Cost(sizes Sizes) (checker.CostEstimate, error) {
	return x.env.EstimateCost(x.ast, estimator{sizes})
}
