package rules

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/schema"
)

// Running rules: a walk visits a value and its parts together with the nodes of their schemas, and
// runs the rules of each node. Definitions call Rules.Validate for custom resources, after the
// validation by their schema. Package kind calls TypeRules.Validate for kinds with rules in their
// tags.

// maxMessage is the length in bytes of the longest message that a messageExpression may make.
const maxMessage = 5 << 10

// overBudget is Kubernetes' text for a value whose budget is spent.
const overBudget = "failed due to running out of cost budget, no further validation rules will be run"

// Validate runs all rules on the value v at path, until the budget for an object is spent. old is
// the value before an update, nil if there is none. If a broken rule does not read the old value
// and the value has not changed, warn is called with its error instead of reporting it; if warn is
// nil, the error is reported. When ctx ends, validation ends, and the last error is that of ctx.
func (r *Rules) Validate(ctx context.Context, path *field.Path, v, old any, warn func(text string)) field.ErrorList {
	budget := cel.ObjectBudget
	return r.ValidateWithin(ctx, &budget, path, v, old, warn)
}

// ValidateWithin runs all rules on v as Validate does, for one of several values that share a
// budget.
func (r *Rules) ValidateWithin(
	ctx context.Context, budget *cel.Budget, path *field.Path, v, old any, warn func(text string),
) field.ErrorList {
	if r == nil {
		return nil
	}
	w := &walk{ctx: ctx, meter: meter.New(ctx), budget: budget, warn: warn, ratchet: old != nil && warn != nil,
		timing: r.Timing}
	var at *position
	if w.ratchet {
		at = &position{schema: r.root.schema, value: v, before: old, hasOld: true, looked: true}
	}
	w.value(r.root, path, v, old, at)
	if err := w.meter.Err(); err != nil {
		w.report(field.InternalError(path, err))
	}
	return w.errs
}

// stepsPerValue is roughly the time to visit a value and look at its rules, in steps of a Meter.
const stepsPerValue = 200

// walk is the state of the validation of one object.
type walk struct {
	ctx     context.Context
	meter   *meter.Meter // ends when ctx does
	budget  *cel.Budget
	warn    func(string)
	ratchet bool // a rule that an unchanged value breaks is a warning
	timing  *Timing
	errs    field.ErrorList
	over    bool      // no more rules are run
	vars    variables // those of the rule that is being run
}

// report adds an error.
func (w *walk) report(err *field.Error) {
	w.errs = append(w.errs, err)
	w.over = w.over || w.errs.Full()
}

// stop adds an error after which no more rules are run.
func (w *walk) stop(err *field.Error) {
	w.report(err)
	w.over = true
}

// value validates a value and its parts. old is the value of oldSelf, nil if there is none. at is
// the position of the value, which can tell whether the value has changed.
func (w *walk) value(n *node, path *field.Path, v, old any, at *position) {
	if v == nil || w.over || w.meter.Step(stepsPerValue) != nil {
		return
	}
	if w.timing != nil {
		began := time.Now()
		defer func() { w.timing.Ran(time.Since(began)) }()
	}
	w.rules(n, path, v, old, at)
	switch v := v.(type) {
	case map[string]any:
		was, _ := old.(map[string]any)
		if n.schema.AdditionalProperties != nil && n.item != nil {
			for _, key := range jsontext.Keys(v) {
				w.value(n.item, path.Key(key), v[key], was[key], at.field(n.item, key, v[key], w.ratchet))
			}
		}
		for _, f := range n.fields {
			if held := v[f.name]; held != nil {
				w.value(f.node, path.Child(f.name), held, was[f.name], at.field(f.node, f.name, held, w.ratchet))
			}
		}
	case []any:
		if n.item == nil || n.schema.Items == nil {
			return
		}
		was := w.oldElements(n, old)
		for i, held := range v {
			if w.over || w.meter.Err() != nil {
				return
			}
			w.value(n.item, path.Index(i), held, was.Element(held), at.element(n.item, held, w.ratchet))
		}
	}
}

// rules runs the rules of n itself on a value.
func (w *walk) rules(n *node, path *field.Path, v, old any, at *position) {
	all, err := n.compiled(w.timing)
	if err != nil {
		w.report(field.Invalid(path, n.schema.Type, fmt.Sprintf("rule compiler initialization error: %v", err)))
		return
	}
	if len(all) == 0 || w.over {
		return
	}
	if *w.budget <= 0 {
		w.stop(field.Invalid(path, n.schema.Type, "validation "+overBudget))
		return
	}
	self := n.shape.value(v)
	var oldSelf ref.Val
	if n.usesOld && old != nil {
		oldSelf = n.shape.value(old)
	}
	for i := range all {
		r := &all[i]
		switch {
		case w.over:
			return
		case r.err != nil:
			w.report(field.Invalid(path, n.schema.Type, fmt.Sprintf("rule compile error: %v", r.err)))
		case r.program == nil, r.usesOld && old == nil && !r.optional():
		default:
			w.vars = variables{self, oldSelf}
			if n.usesOld && r.optional() {
				w.vars.oldSelf = types.OptionalNone
				if oldSelf != nil {
					w.vars.oldSelf = types.OptionalOf(oldSelf)
				}
			}
			w.rule(r, n, path, v, at)
		}
	}
}

// rule runs one rule on a value. A rule whose expression fails counts as broken; if the expression
// costs too much, the walk ends.
func (w *walk) rule(r *rule, n *node, path *field.Path, v any, at *position) {
	result, err := r.program.Run(w.ctx, &w.vars, w.budget)
	switch {
	case err == nil:
	case errors.Is(err, cel.ErrBudget):
		w.stop(field.Invalid(path, n.schema.Type, "validation "+overBudget))
		return
	case errors.Is(err, cel.ErrCallLimit):
		w.stop(field.Invalid(path, n.schema.Type, fmt.Sprintf(
			"'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v",
			err, r.text())))
		return
	case strings.HasPrefix(err.Error(), "no such overload"):
		w.report(field.Invalid(path, n.schema.Type, fmt.Sprintf(
			"'%v': call arguments did not match a supported operator, function or macro signature for rule: %v",
			err, r.text())))
		return
	default:
		w.report(field.Invalid(path, n.schema.Type, fmt.Sprintf("%v evaluating rule: %v", err, r.text())))
		return
	}
	if result == types.True {
		return
	}
	if r.path != "" {
		path = path.Child(r.path)
	}
	broken := w.broken(r, n, path, v)
	if !r.usesOld && at.ratchets() {
		w.warn(broken.Error())
	} else {
		w.report(broken)
	}
}

// broken returns the error for a value that breaks a rule, with the reason that the rule names.
func (w *walk) broken(r *rule, n *node, path *field.Path, v any) *field.Error {
	message, err := w.message(r)
	if err != nil {
		w.over = true
		return field.Invalid(path, n.schema.Type, err.Error())
	}
	if n.schema.Type == schema.Object || n.schema.Type == schema.Array {
		v = field.Omit{}
	}
	switch r.Reason {
	case "FieldValueForbidden":
		return field.Forbidden(path, message)
	case "FieldValueRequired":
		return field.Required(path, message)
	case "FieldValueDuplicate":
		return field.Duplicate(path, v)
	}
	return field.Invalid(path, v, message)
}

// message returns the message for a broken rule. Its error says that messageExpression costs too
// much.
func (w *walk) message(r *rule) (string, error) {
	usual := r.text()
	if r.Message == "" {
		usual = "failed rule: " + usual
	}
	if r.message == nil {
		return usual, nil
	}
	result, err := r.message.Run(w.ctx, &w.vars, w.budget)
	switch {
	case errors.Is(err, cel.ErrBudget):
		return "", errors.New("messageExpression evaluation " + overBudget)
	case errors.Is(err, cel.ErrCallLimit):
		return "", errors.New(
			"no further validation rules will be run due to call cost exceeds limit for messageExpression: " +
				strconv.Quote(r.MessageExpression))
	case err != nil:
		return usual, nil
	}
	made, _ := result.Value().(string)
	made = strings.TrimSpace(made)
	if made == "" || len(made) > maxMessage || strings.Contains(made, "\n") {
		return usual, nil
	}
	return made, nil
}

// variables are the variables of a rule. oldSelf is nil if there is no old value.
type variables struct{ self, oldSelf ref.Val }

var _ celgo.Activation = (*variables)(nil)

// ResolveName implements cel.Activation.
func (v *variables) ResolveName(name string) (any, bool) {
	switch {
	case name == selfVar:
		return v.self, true
	case name == oldSelfVar && v.oldSelf != nil:
		return v.oldSelf, true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (v *variables) Parent() celgo.Activation { return nil }
