package cel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Running expressions: budgets, planning (Expression.Program) and a run (Program.Run). A plan is
// made by cel-go's planner with decorators of this package: either (optionals.go), guard
// (guard.go), and the watcher (watch.go), which counts cost in the tally of the run.

const (
	// CallLimit bounds the cost of running a program once. A run of that cost takes about a tenth
	// of a second.
	CallLimit = 1_000_000
	// ObjectBudget bounds the cost of all expressions about one object.
	ObjectBudget Budget = 10_000_000
	// MatchBudget bounds the cost of all match conditions that decide whether one object goes to
	// one webhook.
	MatchBudget Budget = 2_500_000

	// interruptEvery is the number of loop steps between two looks at the context.
	interruptEvery = 100
)

var (
	// ErrCallLimit is the error of a run whose cost would exceed CallLimit. The text is
	// Kubernetes'.
	ErrCallLimit = errors.New("operation cancelled: actual cost limit exceeded")
	// ErrBudget is the error of a run that cost more than its Budget had left. The text is
	// Kubernetes'.
	ErrBudget = errors.New(
		"validation failed due to running out of cost budget, no further validation rules will be run")
)

// A Budget is the cost that the expressions about one object may still spend. It belongs to one
// goroutine.
type Budget int64

// spend subtracts the cost of a run. A Budget that was exceeded once stays negative, so all later
// runs fail.
func (b *Budget) spend(cost uint64) error {
	if *b < 0 || cost > uint64(*b) {
		*b = -1
		return ErrBudget
	}
	*b -= Budget(cost)
	return nil
}

// A Program is an expression that can be run. It is safe for concurrent use.
type Program struct {
	plan interpreter.Interpretable
	ids  int64 // all ids of its expressions are below it
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

// dispatcher holds the implementations of all functions. All programs share it, because no Env has
// other functions than those of Base and JSONPatch.
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

// Run evaluates the program with the given variables and subtracts the cost from budget. Loops end
// early when ctx ends. If the budget does not cover the cost, the error is ErrBudget, whatever else
// went wrong.
func (p *Program) Run(ctx context.Context, vars cel.Activation, budget *Budget) (ref.Val, error) {
	r := begin(ctx, vars, p.ids)
	defer r.end()
	value, err := p.eval(r)
	cost := r.cost
	cancelled, ok := err.(interpreter.EvalCancelledError)
	if ok && cancelled.Cause == interpreter.CostLimitExceeded {
		// The guarded call was not made, so its cost was not counted.
		cost, err = max(cost, CallLimit+1), ErrCallLimit
	}
	if err := budget.spend(cost); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return value, nil
}

// eval evaluates the program and turns panics of cel-go into errors.
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

// A run is the state of one evaluation: its variables, its tally of cost, and its work.
type run struct {
	cel.Activation
	tally
	done  <-chan struct{}
	steps uint   // of loops; see interruptEvery
	work  uint64 // the work done without cost, at most maxWork
}

// runs holds runs that have ended, for the memory of their tallies.
var runs = sync.Pool{New: func() any { return new(run) }}

// mostEntries is the length of the longest tally whose memory is used again. A tally is cleared as
// a whole.
const mostEntries = 256

// begin returns a run of a program whose ids are below ids.
func begin(ctx context.Context, vars cel.Activation, ids int64) *run {
	r := runs.Get().(*run)
	r.Activation, r.done = vars, ctx.Done()
	r.top = slices.Grow(r.top[:0], int(ids))[:ids]
	return r
}

// end gives the memory of a run back. No entry of its tally is left.
func (r *run) end() {
	if cap(r.top) > mostEntries || cap(r.stack) > mostEntries || cap(r.args) > mostEntries {
		return
	}
	clear(r.top)
	clear(r.stack[:cap(r.stack)])
	clear(r.args[:cap(r.args)])
	*r = run{tally: tally{top: r.top[:0], stack: r.stack[:0], args: r.args[:0]}}
	runs.Put(r)
}

// runOf returns the run that variables belong to; loops nest activations of their own around it. It
// returns nil while a program is planned.
func runOf(vars cel.Activation) *run {
	for ; vars != nil; vars = vars.Parent() {
		if r, ok := vars.(*run); ok {
			return r
		}
	}
	return nil
}

// interruptedName is the variable that cel-go's loops read at each step; true ends the loop.
const interruptedName = "#interrupted"

// ResolveName implements cel.Activation. It answers interruptedName by the context of the run.
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
