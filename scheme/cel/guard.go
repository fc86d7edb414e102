package cel

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// cel-go counts the cost of a call when it has been made. That is too late for the functions here, of which one call can
// take all memory or hours: lists.range(1000000000), or distinct() of a long list. They are asked before.

// maxReplaced is how long the result of a replacement may become: what costs little to make may be multiplied.
const maxReplaced = 10 * CallLimit

// forecast are these functions, each with the least that a call will cost.
var forecast = map[string]func(args []ref.Val) uint64{
	"lists.range": func(args []ref.Val) uint64 {
		n, _ := args[0].(types.Int)
		return uint64(max(n, 0))
	},
	"distinct":        func(args []ref.Val) uint64 { return size(args[0]) * size(args[0]) },
	"sets.contains":   product,
	"sets.equivalent": product,
	"sets.intersects": product,
	"replace":         replacement,
}

func product(args []ref.Val) uint64 { return size(args[0]) * size(args[1]) }

// replacement is more than any limit if the result would be too long.
func replacement(args []ref.Val) uint64 {
	s, _ := args[0].(types.String)
	what, _ := args[1].(types.String)
	with, _ := args[2].(types.String)
	n := strings.Count(string(s), string(what))
	if len(args) > 3 {
		if limit, ok := args[3].(types.Int); ok && limit >= 0 {
			n = min(n, int(limit))
		}
	}
	if n*len(with)+len(s) > maxReplaced {
		return CallLimit + 1
	}
	return 0
}

// guard puts the forecast before the calls of a program.
func guard(env *cel.Env) cel.ProgramOption {
	return cel.CustomDecorator(func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok {
			return i, nil
		}
		least := forecast[call.Function()]
		if least == nil {
			return i, nil
		}
		bindings, err := env.Functions()[call.Function()].Bindings()
		if err != nil {
			return nil, err
		}
		if run := operation(bindings, call); run != nil {
			return &guarded{call, least, run, len(call.Args()) == 2}, nil
		}
		return i, nil
	})
}

// A guarded call is made if it does not cost too much.
type guarded struct {
	interpreter.InterpretableCall
	least func(args []ref.Val) uint64
	run   functions.FunctionOp
	both  bool // arguments are evaluated, and counted, after one that is an error: so it is with two
}

// Eval implements interpreter.Interpretable.
func (g *guarded) Eval(vars interpreter.Activation) ref.Val {
	var wrong ref.Val
	args := make([]ref.Val, len(g.Args()))
	for i, arg := range g.Args() {
		args[i] = arg.Eval(vars)
		if wrong == nil && types.IsUnknownOrError(args[i]) {
			if wrong = args[i]; !g.both {
				break
			}
		}
	}
	if wrong != nil {
		return wrong
	}
	if g.least(args) > CallLimit {
		panic(interpreter.EvalCancelledError{Message: ErrCallLimit.Error(), Cause: interpreter.CostLimitExceeded})
	}
	return types.LabelErrNode(g.ID(), g.run(args...))
}

// operation is what a call does, by its overload, or by its name if only the values will tell which overload it is.
func operation(bindings []*functions.Overload, call interpreter.InterpretableCall) functions.FunctionOp {
	name := call.OverloadID()
	if name == "" {
		name = call.Function()
	}
	for _, b := range bindings {
		switch {
		case b.Operator != name:
		case b.Function != nil:
			return b.Function
		case b.Unary != nil:
			return func(args ...ref.Val) ref.Val { return b.Unary(args[0]) }
		case b.Binary != nil:
			return func(args ...ref.Val) ref.Val { return b.Binary(args[0], args[1]) }
		}
	}
	return nil
}
