package cel

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Checks before a call. cel-go counts the cost of a call after the call, and some calls have the
// same small cost however much they do. A few calls of such functions can take hours or all memory:
// lists.range(1000000000), distinct() of a long list, or == of lists that hold the same list twice,
// forty levels deep. Program passes guard to the planner, which makes these calls compute their
// work first (work.go).

// guard returns a decorator for the planner, which wraps the calls that may do too much.
func guard(env *cel.Env, a *ast.AST) interpreter.InterpretableDecorator {
	return func(i interpreter.Interpretable) (interpreter.Interpretable, error) {
		call, ok := i.(interpreter.InterpretableCall)
		if !ok || !suspect(a, call) {
			return i, nil
		}
		run, both, err := operation(env, call)
		if err != nil || run == nil {
			return i, err
		}
		return &guarded{call, call.Args(), works[call.Function()], run, both}, nil
	}
}

// suspect reports whether a call may do too much, by what is known while it is planned.
func suspect(a *ast.AST, call interpreter.InterpretableCall) bool {
	args := call.Args()
	switch call.Function() {
	case operators.Add:
		return (call.OverloadID() == "" || call.OverloadID() == overloads.AddList) && !isAccumulator(args[0])
	case operators.Equals, operators.NotEquals:
		return !isScalar(a.GetType(args[0].ID())) && !isScalar(a.GetType(args[1].ID()))
	case operators.In:
		return !isScalar(a.GetType(args[0].ID()))
	// The literal is compiled once, with the program.
	case overloads.Matches, "find":
		_, literal := args[1].(interpreter.InterpretableConst)
		return !literal
	}
	_, ok := works[call.Function()]
	return ok
}

// isAccumulator reports whether i is the accumulator of a macro such as map(). An accumulator grows
// by one element per step, so adding to it is paid for.
func isAccumulator(i interpreter.Interpretable) bool {
	attr, ok := i.(interpreter.InterpretableAttribute)
	if !ok {
		return false
	}
	named, ok := attr.Attr().(interpreter.NamespacedAttribute)
	return ok && len(named.CandidateVariableNames()) == 1 && named.CandidateVariableNames()[0] == "@result"
}

// isScalar reports whether values of a type contain no other values.
func isScalar(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.BytesKind, types.DoubleKind, types.DurationKind, types.IntKind,
		types.NullTypeKind, types.StringKind, types.TimestampKind, types.TypeKind, types.UintKind:
		return true
	}
	return false
}

// A guarded call computes its work and is made only if the work is within its limits.
type guarded struct {
	interpreter.InterpretableCall
	// The arguments of the call, kept because Args makes a new list each time.
	args []interpreter.Interpretable
	work func(args []ref.Val) work
	run  functions.FunctionOp
	// both says that the second argument is evaluated and counted even if the first one is an
	// error, as cel-go does for functions of two arguments.
	both bool
}

// Eval implements interpreter.Interpretable. It panics like cel-go does at a cost limit;
// Program.eval recovers.
func (g *guarded) Eval(vars interpreter.Activation) ref.Val {
	var wrong ref.Val
	args := make([]ref.Val, len(g.args))
	for i, arg := range g.args {
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
	work := g.work(args)
	r := runOf(vars)
	r.work += work.free
	if work.cost > CallLimit || r.work > maxWork {
		panic(interpreter.EvalCancelledError{Message: ErrCallLimit.Error(), Cause: interpreter.CostLimitExceeded})
	}
	return types.LabelErrNode(g.ID(), g.run(args...))
}

// operation returns what the call executes. It is found by the overload or, if only the values
// determine the overload, by the name of the function. both reports whether it is a function of two
// arguments. run is nil if there is nothing to execute.
func operation(env *cel.Env, call interpreter.InterpretableCall) (run functions.FunctionOp, both bool, err error) {
	switch call.Function() {
	case operators.Equals:
		return func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }, true, nil
	case operators.NotEquals:
		return func(args ...ref.Val) ref.Val {
			return types.Bool(types.Equal(args[0], args[1]) != types.True)
		}, true, nil
	case operators.Add:
		return func(args ...ref.Val) ref.Val {
			if a, ok := args[0].(traits.Adder); ok {
				return a.Add(args[1])
			}
			return types.NewErr("no such overload: %s", operators.Add)
		}, true, nil
	}
	bindings, err := env.Functions()[call.Function()].Bindings()
	if err != nil {
		return nil, false, err
	}
	for _, name := range []string{call.OverloadID(), call.Function()} {
		for _, b := range bindings {
			switch {
			case name == "" || b.Operator != name:
			case b.Binary != nil && len(call.Args()) == 2:
				return func(args ...ref.Val) ref.Val { return b.Binary(args[0], args[1]) }, true, nil
			case b.Unary != nil && len(call.Args()) == 1:
				return func(args ...ref.Val) ref.Val { return b.Unary(args[0]) }, false, nil
			case b.Function != nil:
				return b.Function, false, nil
			}
		}
	}
	return nil, false, nil
}
