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

// Selects reports whether the expression looks at a field of a variable by its name, as x.field or x.?field.
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

// Sizes tells how long the value at a path can be at most: characters of a string, bytes, entries of a list or map; false
// if that is not known. A path begins with a variable and goes on with names of fields, "@items" for the elements of a
// list, "@keys" and "@values" for those of a map. It is never empty.
type Sizes func(path []string) (most uint64, known bool)

// Cost estimates the cost of running the expression once: at least and at most, when values are as long as sizes allows.
func (x *Expression) Cost(sizes Sizes) (checker.CostEstimate, error) {
	return x.env.EstimateCost(x.ast, estimator{sizes})
}
