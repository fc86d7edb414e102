package admission

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// This file wraps a chain so that each call of a plugin is timed. A plugin that takes noticeable
// time is a span of the request. server/plugins calls WithObserver.

// Observer is called after each call of a plugin, for metrics. validates is true for validators and
// reservers, false for mutators; rejected says that the plugin refused the write.
type Observer func(validates bool, op Operation, took time.Duration, rejected bool)

// WithObserver returns a chain that does what c does and calls observers: by(name) for each call of
// a plugin, and by("") for each run of all mutators or of all validators and reservers. by("") is
// not called for a run of the reservers alone (ReserveAgain). by(name) is not called for a write of
// the server itself: such a write passes most plugins once, at the start, and each would have a
// histogram that nobody reads.
func (c Chain) WithObserver(by func(plugin string) Observer) Chain {
	w := &observedChain{tell: by("")}
	for _, p := range c {
		tell := by(p.Name())
		if m, is := p.(Mutator); is {
			w.mutators = append(w.mutators, observed[Mutator]{m, tell})
		}
		if v, is := p.(Validator); is {
			w.validators = append(w.validators, observed[Validator]{v, tell})
		}
		if r, is := p.(Reserver); is {
			w.reservers = append(w.reservers, observedReserver{r, tell})
		}
	}
	return Chain{w}
}

// observed is a plugin as a Mutator or as a Validator, and its Observer.
type observed[Role Plugin] struct {
	plugin Role
	tell   Observer
}

// observedChain is a chain as one plugin, which times the calls of its plugins. Most plugins do
// nothing for most writes, so a call costs little more than its observation. Therefore the clock is
// read once between two plugins: the end of one call is the start of the next.
type observedChain struct {
	mutators   []observed[Mutator]
	validators []observed[Validator]
	reservers  Chain // of observedReserver
	tell       Observer
}

// Name implements Plugin.
func (*observedChain) Name() string { return "" }

// Handles implements Plugin.
func (*observedChain) Handles(Operation) bool { return true }

// Mutate implements Mutator. It does not run the mutators again after a replacement: the chain
// around it does.
func (w *observedChain) Mutate(ctx context.Context, a *Attributes) error {
	began := time.Now()
	err := observe(ctx, w.mutators, a, request.PhaseMutate, Mutator.Mutate)
	w.tell(false, a.Operation, time.Since(began), err != nil)
	return err
}

// Validate implements Validator. It runs the reservers as well: the chain around it has none.
func (w *observedChain) Validate(ctx context.Context, a *Attributes) error {
	began := time.Now()
	err := observe(ctx, w.validators, a, request.PhaseValidate, Validator.Validate)
	if err == nil {
		err = w.reservers.reserve(ctx, a)
	}
	w.tell(true, a.Operation, time.Since(began), err != nil)
	return err
}

// observe calls plugins in order, stops at the first error, and tells the Observer of each plugin
// about its call.
func observe[Role Plugin](
	ctx context.Context, plugins []observed[Role], a *Attributes, phase request.Phase,
	call func(Role, context.Context, *Attributes) error,
) error {
	began, before, own := time.Now(), time.Duration(0), a.User.IsAPIServer()
	for i := range plugins {
		p := &plugins[i]
		if !p.plugin.Handles(a.Operation) {
			continue
		}
		var err error
		if a.teller == nil {
			err = call(p.plugin, ctx, a)
		} else {
			err = run(ctx, a, p.plugin, phase, call)
		}
		now := time.Since(began) // reads one clock; time.Now reads two
		if !own {
			p.tell(phase == request.PhaseValidate, a.Operation, now-before, err != nil)
		}
		request.Took(ctx, request.SpanOther, "admission plugin", p.plugin.Name(), now-before)
		if err != nil {
			return err
		}
		before = now
	}
	return nil
}

// observedReserver is a Reserver that reports each of its calls to an Observer.
type observedReserver struct {
	Reserver
	tell Observer
}

// Reserve implements Reserver.
func (o observedReserver) Reserve(ctx context.Context, a *Attributes) (Settle, error) {
	began := time.Now()
	settle, err := o.Reserver.Reserve(ctx, a)
	took := time.Since(began)
	if !a.User.IsAPIServer() {
		o.tell(true, a.Operation, took, err != nil)
	}
	request.Took(ctx, request.SpanOther, "admission plugin", o.Name(), took)
	return settle, err
}
