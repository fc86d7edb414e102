// Package admission decides, after authorization, whether a write may happen, and may change the
// object on its way.
//
// A plugin is a Mutator, a Validator, a Reserver or several of these. The Chain runs all mutators
// in order before the object is validated. It runs all validators after that, right before the
// write, and then all reservers. On updates all run again on every retry, with the true old object.
// A mutator may change the object in place, or replace it. If the replacement came from outside the
// server, all mutators run again on it. Many requests call a plugin at once, and a plugin must not
// keep the objects that it sees.
//
// A reserver takes something outside the object, and so do the declaration of a kind
// (registry.ReserveOf) and an eviction. All follow one law: whoever has taken something is settled
// exactly once, with the fate of the write.
//
// Read: admission.go, attributes.go, reserve.go, namespace.go, observed.go, then a file for each
// plugin. A plugin of more than one file is a package below.
package admission

import "context"

// Plugin is a named member of the chain.
type Plugin interface {
	// Name is the plugin's name as in --enable-admission-plugins.
	Name() string
	// Handles reports whether the plugin wants to see an operation.
	Handles(op Operation) bool
}

// Mutator is a Plugin that may change Attributes.Object, or replace it.
type Mutator interface {
	Plugin
	// Mutate changes the object or rejects the write with a *meta.StatusError. What it does must
	// not add up: it may be called a second time for one write, with a.Reinvoked set.
	Mutate(ctx context.Context, a *Attributes) error
}

// Validator is a Plugin that may reject a write, but changes nothing.
type Validator interface {
	Plugin
	// Validate rejects the write with a *meta.StatusError.
	Validate(ctx context.Context, a *Attributes) error
}

// Chain is an ordered list of plugins. The zero Chain admits everything.
type Chain []Plugin

// Mutate runs the mutators in order and stops at the first error. If one of them has replaced the
// object by one from outside, all run a second time, so that those before it have seen what will be
// stored.
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	a.Reinvoked, a.replaced, a.final, a.within = false, false, false, within{}
	if err := c.mutate(ctx, a); err != nil || !a.replaced {
		return err
	}
	a.Reinvoked = true
	return c.mutate(ctx, a)
}

func (c Chain) mutate(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if m, ok := p.(Mutator); ok && p.Handles(a.Operation) {
			if err := m.Mutate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate runs the validators in order, then the reservers, and stops at the first error. Whatever
// it returns, its caller calls a.Settle when the fate of the write is known.
func (c Chain) Validate(ctx context.Context, a *Attributes) error {
	a.final, a.objectView, a.oldView = true, view{}, view{}
	for _, p := range c {
		if v, ok := p.(Validator); ok && p.Handles(a.Operation) {
			if err := v.Validate(ctx, a); err != nil {
				return err
			}
		}
	}
	for _, p := range c {
		if r, ok := p.(Reserver); ok && p.Handles(a.Operation) {
			settle, err := r.Reserve(ctx, a)
			if err != nil {
				return err
			}
			a.Take(settle)
		}
	}
	return nil
}
