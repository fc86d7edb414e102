package policies

import (
	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/scheme/cel"
)

// An Expression is one expression of a policy that can be run, or the reason why it cannot. It is
// immutable.
type Expression struct {
	text    string
	program *cel.Program // nil if err is set
	err     error        // the expression does not compile
}

// Text returns the expression as the policy spells it.
func (x *Expression) Text() string { return x.text }

// Err returns the reason why the expression does not compile, nil if it compiles.
func (x *Expression) Err() error { return x.err }

// Compile compiles the expression text for running. results are the types that its value may have;
// none means any type. Compile always returns an Expression: if the text does not compile, running
// the Expression fails.
func (s *Scope) Compile(text string, uses Uses, results ...*types.Type) *Expression {
	x, _ := s.expression(text, uses, results)
	return x
}

// Variable compiles the expression of a variable, which may have any type, and declares the
// variable as Declare does. The variable belongs to all Sets that the Scope makes.
func (s *Scope) Variable(name, text string, uses Uses) {
	x, t := s.expression(text, uses, nil)
	s.variables[variablesType][name] = declared(t)
	s.compiled.add(name, x)
}

// expression compiles an expression for running. The type is nil if it does not compile.
func (s *Scope) expression(text string, uses Uses, results []*types.Type) (*Expression, *types.Type) {
	t, program, err := s.plan(text, uses, results)
	if err != nil {
		return &Expression{text: text, err: err.error}, nil
	}
	return &Expression{text: text, program: program}, t
}

// variables are the variables of a policy that its expressions can read. They are complete before
// the first expression runs.
type variables struct {
	names  []string // in the order of the policy
	byName map[string]*Expression
}

// add adds a variable. A variable takes the place of an earlier one of the same name.
func (v *variables) add(name string, x *Expression) {
	if v.byName == nil {
		v.byName = map[string]*Expression{}
	}
	if v.byName[name] == nil {
		v.names = append(v.names, name)
	}
	v.byName[name] = x
}
