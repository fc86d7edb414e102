package cel

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// eitherOptional is a decorator for the planner. It makes a.or(b) and a.orValue(b) evaluate b only
// if a has no value. Neither costs anything itself.
func eitherOptional(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || len(call.Args()) != 2 {
		return i, nil
	}
	id := call.OverloadID()
	switch call.Function() {
	case "or":
		if id == "" || id == "optional_or_optional" {
			return &either{call.ID(), call.Args()[0], call.Args()[1], false}, nil
		}
	case "orValue":
		if id == "" || id == "optional_orValue_value" {
			return &either{call.ID(), call.Args()[0], call.Args()[1], true}, nil
		}
	}
	return i, nil
}

// either is a planned a.or(b) or a.orValue(b): optional is a, other is b.
type either struct {
	id              int64
	optional, other interpreter.Interpretable
	// The result is the value of the optional, not the optional: orValue.
	value bool
}

// ID implements interpreter.Interpretable.
func (e *either) ID() int64 { return e.id }

// Eval implements interpreter.Interpretable.
func (e *either) Eval(vars interpreter.Activation) ref.Val {
	first := e.optional.Eval(vars)
	optional, ok := first.(*types.Optional)
	switch {
	case !ok:
		return first
	case !optional.HasValue():
		return e.other.Eval(vars)
	case e.value:
		return optional.GetValue()
	}
	return optional
}
