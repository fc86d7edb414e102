package cel

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Counting cost while a program runs. Program passes a watcher to cel-go's planner, which wraps
// each step of the plan, so that the step reports its value to the tally of the run (tally.go). The
// wrappers report the same events in the same order as the cost observer of cel-go, because the
// costs follow from that order. cel-go's own observer is not used: it is quadratic in the length of
// lists.

// A watcher wraps the steps of one program while the program is planned.
type watcher struct {
	// For a logical operation or a loop: the expressions whose entries it drops when it ends.
	parts    map[int64][]int64
	presence map[int64]bool // the expressions has(x.f)
}

// newWatcher returns the watcher for the program of an expression.
func newWatcher(a *ast.AST) *watcher {
	w := &watcher{map[int64][]int64{}, map[int64]bool{}}
	ast.PreOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			if e.AsSelect().IsTestOnly() {
				w.presence[e.ID()] = true
			}
		case ast.CallKind:
			if f := e.AsCall().FunctionName(); f == operators.LogicalAnd || f == operators.LogicalOr {
				for _, term := range e.AsCall().Args() {
					w.parts[e.ID()] = append(w.parts[e.ID()], term.ID())
				}
			}
		case ast.ComprehensionKind:
			w.parts[e.ID()] = []int64{e.AsComprehension().IterRange().ID()}
		}
	}))
	return w
}

// watch implements interpreter.InterpretableDecorator. Each type of step gets a wrapper that
// reports its cost.
func (w *watcher) watch(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch i := i.(type) {
	case *watchedAttribute, *watchedConst, *watchedConstructor, *watchedCall, *watched:
		// The planner adds a qualifier to a step that was wrapped before.
		return i, nil
	case interpreter.InterpretableAttribute:
		return &watchedAttribute{i, w.presence[i.ID()]}, nil
	case interpreter.InterpretableConst:
		return &watchedConst{i}, nil
	case interpreter.InterpretableConstructor:
		return &watchedConstructor{i, idsOf(i.InitVals()), creationCost(i.Type())}, nil
	case interpreter.InterpretableCall:
		return &watchedCall{i, idsOf(i.Args()), priceOf(i.Function(), i.OverloadID())}, nil
	}
	return &watched{i, w.parts[i.ID()]}, nil
}

// idsOf returns the expression ids of steps.
func idsOf(steps []interpreter.Interpretable) []int64 {
	ids := make([]int64, len(steps))
	for i, s := range steps {
		ids[i] = s.ID()
	}
	return ids
}

// creationCost returns the cost of making a list, map or object.
func creationCost(t ref.Type) uint64 {
	switch t {
	case types.ListType:
		return common.ListCreateBaseCost
	case types.MapType:
		return common.MapCreateBaseCost
	}
	return common.StructCreateBaseCost
}

// watchedCall reports a call. It embeds only Interpretable, which hides the other methods of the
// call: the planner must not take it for a call that is still to be planned.
type watchedCall struct {
	interpreter.Interpretable
	args  []int64
	price price
}

// Eval implements interpreter.Interpretable.
func (c *watchedCall) Eval(vars interpreter.Activation) ref.Val {
	v := c.Interpretable.Eval(vars)
	if r := runOf(vars); r != nil {
		if args, ok := r.take(c.args); ok {
			r.cost += c.price(args, v)
		}
		r.push(c.ID(), v)
	}
	return v
}

// watched reports a logical operation, a loop, or a step without cost.
type watched struct {
	interpreter.Interpretable
	parts []int64
}

// Eval implements interpreter.Interpretable.
func (w *watched) Eval(vars interpreter.Activation) ref.Val {
	v := w.Interpretable.Eval(vars)
	if r := runOf(vars); r != nil {
		for _, id := range w.parts {
			r.drop(id)
		}
		r.push(w.ID(), v)
	}
	return v
}

// watchedConstructor reports a list, map or object literal.
type watchedConstructor struct {
	interpreter.InterpretableConstructor
	parts []int64
	cost  uint64
}

// Eval implements interpreter.Interpretable.
func (c *watchedConstructor) Eval(vars interpreter.Activation) ref.Val {
	v := c.InterpretableConstructor.Eval(vars)
	if r := runOf(vars); r != nil {
		r.take(c.parts)
		r.cost += c.cost
		r.push(c.ID(), v)
	}
	return v
}

// watchedConst reports a constant, which costs nothing.
type watchedConst struct{ interpreter.InterpretableConst }

// Eval implements interpreter.Interpretable.
func (c *watchedConst) Eval(vars interpreter.Activation) ref.Val {
	v := c.Value()
	if r := runOf(vars); r != nil {
		r.push(c.ID(), v)
	}
	return v
}

// watchedAttribute reports a variable with its qualifiers, such as x.f[i].
type watchedAttribute struct {
	interpreter.InterpretableAttribute
	// The expression is has(x.f), which costs nothing itself.
	presence bool
}

// Eval implements interpreter.Interpretable.
func (a *watchedAttribute) Eval(vars interpreter.Activation) ref.Val {
	v := a.InterpretableAttribute.Eval(vars)
	if r := runOf(vars); r != nil {
		r.resolved(a.Attr())
		if a.presence {
			r.cost -= common.SelectAndIdentCost
		}
		r.push(a.ID(), v)
	}
	return v
}

// resolved counts an attribute. A conditional (a ? b : c) costs only what its parts cost.
func (r *run) resolved(a interpreter.Attribute) {
	if c, ok := a.(*choice); ok {
		r.drop(c.no.ID())
		r.drop(c.yes.ID())
		r.drop(c.condition.ID())
		return
	}
	r.drop(a.ID())
	r.cost += common.SelectAndIdentCost
}

// AddQualifier implements interpreter.InterpretableAttribute.
func (a *watchedAttribute) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	switch qualifier := q.(type) {
	case interpreter.ConstantQualifier:
		q = &watchedConstQualifier{qualifier}
	case *watchedAttribute: // x[f(y)]
		q = &watchedQualifier{qualifier.InterpretableAttribute, qualifier.InterpretableAttribute}
	case interpreter.Attribute: // x[y.f]
		q = &watchedQualifier{qualifier, nil}
	}
	_, err := a.InterpretableAttribute.AddQualifier(q)
	return a, err
}

// watchedConstQualifier reports a qualifier that is a field name or a constant.
type watchedConstQualifier struct{ interpreter.ConstantQualifier }

// Qualify implements interpreter.Qualifier.
func (q *watchedConstQualifier) Qualify(vars interpreter.Activation, object any) (any, error) {
	v, err := q.ConstantQualifier.Qualify(vars, object)
	runOf(vars).qualified(q.ID(), nil)
	return v, err
}

// QualifyIfPresent implements interpreter.Qualifier.
func (q *watchedConstQualifier) QualifyIfPresent(
	vars interpreter.Activation, object any, only bool,
) (any, bool, error) {
	v, present, err := q.ConstantQualifier.QualifyIfPresent(vars, object, only)
	if present || only {
		runOf(vars).qualified(q.ID(), nil)
	}
	return v, present, err
}

// watchedQualifier reports a qualifier that is computed.
type watchedQualifier struct {
	interpreter.Attribute
	// The attribute whose value is the qualifier, if it is an expression of its own such as
	// x[f(y)]; nil otherwise.
	computed interpreter.InterpretableAttribute
}

// Qualify implements interpreter.Qualifier.
func (q *watchedQualifier) Qualify(vars interpreter.Activation, object any) (any, error) {
	v, err := q.Attribute.Qualify(vars, object)
	runOf(vars).qualified(q.ID(), q.computed)
	return v, err
}

// QualifyIfPresent implements interpreter.Qualifier.
func (q *watchedQualifier) QualifyIfPresent(vars interpreter.Activation, object any, only bool) (any, bool, error) {
	v, present, err := q.Attribute.QualifyIfPresent(vars, object, only)
	if present || only {
		runOf(vars).qualified(q.ID(), q.computed)
	}
	return v, present, err
}

// qualified counts a qualifier. It pushes no value, because the attribute that has the qualifier
// drops the entry without reading it.
func (r *run) qualified(id int64, computed interpreter.InterpretableAttribute) {
	switch {
	case r == nil:
		return
	case computed != nil:
		r.resolved(computed.Attr())
	default:
		r.cost++
	}
	r.push(id, nil)
}

// attributes makes conditionals visible to the tally, which has to know their parts.
type attributes struct{ interpreter.AttributeFactory }

// ConditionalAttribute implements interpreter.AttributeFactory.
func (f attributes) ConditionalAttribute(
	id int64, condition interpreter.Interpretable, yes, no interpreter.Attribute,
) interpreter.Attribute {
	return &choice{f.AttributeFactory.ConditionalAttribute(id, condition, yes, no), condition, yes, no}
}

// A choice is a conditional attribute: condition ? yes : no.
type choice struct {
	interpreter.Attribute
	condition interpreter.Interpretable
	yes, no   interpreter.Attribute
}

// AddQualifier implements interpreter.Attribute.
func (c *choice) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	_, err := c.Attribute.AddQualifier(q)
	return c, err
}
