package cel

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
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
	plan    cel.Program
	guarded bool // it has calls that may be too much
}

// Program plans the expression.
func (x *Expression) Program() (*Program, error) {
	var p Program
	var err error
	p.plan, err = x.env.Program(x.ast,
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		guard(x.env, x.ast.NativeRep(), &p.guarded),
		cel.OptimizeRegex(findPlan, findAllPlan),
		cel.CostLimit(CallLimit),
		cel.CostTracking(tracker{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.InterruptCheckFrequency(interruptEvery),
	)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &p, nil
}

// Run evaluates the program for the values of its variables and takes what that cost from budget. Loops end early when
// ctx does. An error of a run whose cost the budget did not cover is ErrBudget, whatever else was wrong.
func (p *Program) Run(ctx context.Context, vars cel.Activation, budget *Budget) (ref.Val, error) {
	if p.guarded {
		vars = &meter{Activation: vars}
	}
	value, details, err := p.plan.ContextEval(ctx, vars)
	if details == nil {
		return nil, err
	}
	cost := *details.ActualCost()
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
