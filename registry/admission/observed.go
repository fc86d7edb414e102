package admission

import (
	"context"
	"time"
)

// Observer is called after each call of a plugin, for metrics. validates is true for validators and
// reservers, false for mutators; rejected says that the plugin refused the write.
type Observer func(validates bool, op Operation, took time.Duration, rejected bool)

// WithObserver returns a chain that does what c does and calls observers: by(name) for each call of
// a plugin, and by("") for each run of all mutators or of all validators and reservers. by("") is
// not called for a run of the reservers alone (ReserveAgain).
func (c Chain) WithObserver(by func(plugin string) Observer) Chain {
	all := make(whole, len(c))
	for i, p := range c {
		all[i] = observed{p, by(p.Name())}
	}
	return Chain{observed{all, by("")}}
}

// observed is a plugin that reports each of its calls to an Observer.
type observed struct {
	Plugin
	tell Observer
}

// Mutate implements Mutator.
func (o observed) Mutate(ctx context.Context, a *Attributes) error {
	m, is := o.Plugin.(Mutator)
	if !is {
		return nil
	}
	began := time.Now()
	err := m.Mutate(ctx, a)
	o.tell(false, a.Operation, time.Since(began), err != nil)
	return err
}

// Validate implements Validator.
func (o observed) Validate(ctx context.Context, a *Attributes) error {
	v, is := o.Plugin.(Validator)
	if !is {
		return nil
	}
	began := time.Now()
	err := v.Validate(ctx, a)
	o.tell(true, a.Operation, time.Since(began), err != nil)
	return err
}

// Reserve implements Reserver.
func (o observed) Reserve(ctx context.Context, a *Attributes) (Settle, error) {
	r, is := o.Plugin.(Reserver)
	if !is {
		return nil, nil
	}
	began := time.Now()
	settle, err := r.Reserve(ctx, a)
	o.tell(true, a.Operation, time.Since(began), err != nil)
	return settle, err
}

// whole is a chain as one plugin, so that an observer can time all its plugins together.
type whole Chain

// Name implements Plugin.
func (whole) Name() string { return "" }

// Handles implements Plugin.
func (whole) Handles(Operation) bool { return true }

// Mutate implements Mutator. It does not run the mutators again after a replacement: the chain
// around it does.
func (w whole) Mutate(ctx context.Context, a *Attributes) error { return Chain(w).mutate(ctx, a) }

// Validate implements Validator. It runs the reservers as well: the chain around it has none.
func (w whole) Validate(ctx context.Context, a *Attributes) error { return Chain(w).Validate(ctx, a) }
