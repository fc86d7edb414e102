package cel

import (
	"fmt"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
)

// Bounds on the size of an expression, checked between parsing and type checking. cel-go's parser
// bounds the text to 100,000 characters and the nesting of the grammar. The type checker's time
// grows with the square of the number of operations, and faster with the nesting of types: without
// these bounds an expression of a thousand characters takes a minute, which kube-apiserver does
// spend.
const (
	// maxOperations is the largest number of calls, operators, lists, maps and loops in an
	// expression. One macro counts as several.
	maxOperations = 2000
	// maxNesting is the largest depth to which lists, maps and loops may be nested in each other.
	maxNesting = 40
)

// A Patterns counts the states of the literal regular expressions of all expressions of an object,
// such as a policy, which are compiled and kept together. The zero Patterns has none. It belongs to
// one goroutine.
type Patterns struct{ states uint64 }

// MaxPatterns is the largest number of states that a Patterns counts. A state takes 20 to 70 bytes.
const MaxPatterns = 1_000_000

// bound returns an error if type checking the parsed expression e could take too long, or if it has
// too many regular expressions beside those that p has counted. It counts those of e.
func (p *Patterns) bound(e ast.Expr) error {
	var c census
	c.visit(e, 0)
	switch {
	case c.nesting > maxNesting:
		return fmt.Errorf("compilation failed: lists, maps and macros are nested deeper than %d levels", maxNesting)
	case c.operations > maxOperations:
		return fmt.Errorf("compilation failed: expression has more than %d operations", maxOperations)
	case c.patterns > maxPattern:
		return fmt.Errorf("compilation failed: regular expressions have more than %d states", maxPattern)
	case c.patterns > MaxPatterns-p.states:
		return fmt.Errorf("compilation failed: regular expressions of all expressions have more than %d states", MaxPatterns)
	}
	p.states += c.patterns
	return nil
}

// A census counts the parts of an expression.
type census struct {
	operations, nesting int
	patterns            uint64 // states of regular expressions
}

// visit counts e, which is inside of nesting lists, maps and loops. The recursion is bounded,
// because the parser bounds the depth of the grammar.
func (c *census) visit(e ast.Expr, nesting int) {
	switch e.Kind() {
	case ast.SelectKind:
		c.visit(e.AsSelect().Operand(), nesting)
		return
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			c.visit(call.Target(), nesting)
		}
		c.all(call.Args(), nesting)
		c.pattern(call)
	case ast.ListKind:
		nesting++
		c.all(e.AsList().Elements(), nesting)
	case ast.MapKind:
		nesting++
		for _, entry := range e.AsMap().Entries() {
			c.visit(entry.AsMapEntry().Key(), nesting)
			c.visit(entry.AsMapEntry().Value(), nesting)
		}
	case ast.StructKind:
		nesting++
		for _, f := range e.AsStruct().Fields() {
			c.visit(f.AsStructField().Value(), nesting)
		}
	case ast.ComprehensionKind:
		nesting++
		loop := e.AsComprehension()
		c.all([]ast.Expr{
			loop.IterRange(), loop.AccuInit(), loop.LoopCondition(), loop.LoopStep(), loop.Result(),
		}, nesting)
	default:
		return
	}
	c.operations++
	c.nesting = max(c.nesting, nesting)
}

// pattern counts the states of the regular expression of a call if it is a literal. cel-go compiles
// literals while it checks types, and again for a program.
func (c *census) pattern(call ast.CallExpr) {
	switch call.FunctionName() {
	case overloads.Matches, "find", "findAll":
	default:
		return
	}
	args := call.Args()
	if !call.IsMemberFunction() && len(args) > 0 { // matches(text, pattern)
		args = args[1:]
	}
	if len(args) > 0 && args[0].Kind() == ast.LiteralKind {
		if s, ok := args[0].AsLiteral().(types.String); ok {
			c.patterns += states(string(s))
		}
	}
}

// all visits each of parts.
func (c *census) all(parts []ast.Expr, nesting int) {
	for _, e := range parts {
		c.visit(e, nesting)
	}
}
