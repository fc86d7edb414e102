package cel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// CallLimit bounds the cost of running a program once, which is then about a tenth of a second.
	CallLimit = 1_000_000
	// ObjectBudget bounds the cost of all expressions about one object.
	ObjectBudget Budget = 10_000_000
	// MatchBudget bounds the cost of all conditions that decide whether an object goes to a webhook.
	MatchBudget Budget = 2_500_000

	// interruptEvery is how many steps of a loop are run before its context is looked at again.
	interruptEvery = 100
)

var (
	// ErrCallLimit is the error of a run that would cost more than CallLimit.
	ErrCallLimit = errors.New("operation cancelled: actual cost limit exceeded")
	// ErrBudget is the error of a run that cost more than was left in its budget.
	ErrBudget = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")
)

// A Budget is what may still be spent on the expressions of an object. It is nobody's but one goroutine's.
type Budget int64

// spend takes the cost of a run. A budget that was overdrawn stays below zero.
func (b *Budget) spend(cost uint64) error {
	if *b < 0 || cost > uint64(*b) {
		*b = -1
		return ErrBudget
	}
	*b -= Budget(cost)
	return nil
}

// A Program is an expression that can be run, by many goroutines at once.
type Program struct {
	plan interpreter.Interpretable
	ids  int64 // of its expressions are less
}

// Program plans the expression.
func (x *Expression) Program() (*Program, error) {
	env, tree := x.env, x.ast.NativeRep()
	planner := interpreter.NewInterpreter(dispatcher(), env.Container, env.CELTypeProvider(), env.CELTypeAdapter(),
		attributes{interpreter.NewAttributeFactory(env.Container, env.CELTypeAdapter(), env.CELTypeProvider())})
	planned, err := planner.NewInterpretable(tree,
		interpreter.CustomDecorator(eitherOptional),
		interpreter.CustomDecorator(guard(env, tree)),
		interpreter.InterruptableEval(),
		interpreter.Optimize(),
		interpreter.CompileRegexConstants(findPlan, findAllPlan, interpreter.MatchesRegexOptimization),
		interpreter.CustomDecorator(newWatcher(tree).watch),
	)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &Program{planned, ast.MaxID(tree)}, nil
}

// dispatcher has what functions do. It is the same for all programs: no environment has functions
// but those of Base and the one of JSONPatch.
var dispatcher = sync.OnceValue(func() interpreter.Dispatcher {
	d := interpreter.NewDispatcher()
	all, err := Base().Extend(JSONPatch())
	if err != nil {
		panic("cel: " + err.Error())
	}
	for name, f := range all.env.Functions() {
		bindings, err := f.Bindings()
		if err == nil {
			err = d.Add(bindings...)
		}
		if err != nil {
			panic("cel: " + name + ": " + err.Error())
		}
	}
	return d
})

// Run evaluates the program for the values of its variables and takes what that cost from budget. Loops end early when
// ctx does. An error of a run whose cost the budget did not cover is ErrBudget, whatever else was wrong.
func (p *Program) Run(ctx context.Context, vars cel.Activation, budget *Budget) (ref.Val, error) {
	r := &run{Activation: vars, done: ctx.Done(), tally: tally{top: make([]int32, p.ids)}}
	value, err := p.eval(r)
	cost := r.cost
	cancelled, ok := err.(interpreter.EvalCancelledError)
	if ok && cancelled.Cause == interpreter.CostLimitExceeded {
		cost, err = max(cost, CallLimit+1), ErrCallLimit // a guarded call was not made, and so not counted
	}
	if err := budget.spend(cost); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// eval returns the value of the program.
func (p *Program) eval(r *run) (value ref.Val, err error) {
	defer func() {
		switch wrong := recover().(type) {
		case nil:
		case interpreter.EvalCancelledError:
			err = wrong
		default:
			err = fmt.Errorf("internal error: %v", wrong)
		}
	}()
	value = p.plan.Eval(r)
	if types.IsError(value) {
		err = value.(*types.Err)
	}
	return value, err
}

// A run is what is known while a program is run: its variables, how far it has come, and what that
// has cost.
type run struct {
	cel.Activation
	tally
	done  <-chan struct{}
	steps uint   // of loops
	work  uint64 // for which the run does not pay
}

// runOf returns the run in which variables are seen, which loops hide behind their own; nil while a
// program is planned.
func runOf(vars cel.Activation) *run {
	for ; vars != nil; vars = vars.Parent() {
		if r, ok := vars.(*run); ok {
			return r
		}
	}
	return nil
}

// interruptedName is what loops ask for at each step, to end if it is true.
const interruptedName = "#interrupted"

// ResolveName implements cel.Activation.
func (r *run) ResolveName(name string) (any, bool) {
	if name != interruptedName {
		return r.Activation.ResolveName(name)
	}
	if r.steps++; r.steps%interruptEvery != 0 {
		return nil, false
	}
	select {
	case <-r.done:
		return true, true
	default:
		return nil, false
	}
}
