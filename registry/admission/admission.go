// Package admission has the plugins that may change or refuse a write after it was authorized, and
// the Chain that runs them.
//
// Words. A try is one run of a write over one state of its object; an update has another try if
// another writer was faster. A fence is a key of the store that must not change before the try is
// stored; a write has another try if the key has changed. The fate of a try is Stored, NotStored or
// InDoubt. To settle a try is to tell its fate to each function that was returned for something
// taken.
//
// A plugin is a Mutator, a Validator, a Reserver or several of these. A mutator may change the
// object in place, or replace it. A reserver takes something outside the object, such as a part of
// a quota. The declaration of a kind (registry.ReserveOf) and an eviction take in the same way.
//
// Laws:
//   - The registry runs all mutators in order before it validates the object. Right before the
//     write, it runs all validators and then all reservers.
//   - All plugins run again for each try of an update, with the old object that the try replaces.
//     If a create is not stored because of its fence, only the reservers run again.
//   - If a mutator asks for it (Attributes.Reinvoke), all mutators run once more.
//     Attributes.Replace, for objects from outside the server, asks for it.
//   - Each settle function is called exactly once, with the fate of its try. This holds for
//     everything that is taken for a write, by whichever code.
//   - The server's own writes through a registry.View pass no plugin.
//
// Requests call a plugin concurrently. A plugin must not keep the objects that it sees, and must
// not change Old.
//
// Not here: which plugins a server runs, and in which order (server/plugins).
//
// Read: admission.go, attributes.go, reserve.go, namespace.go, observed.go, story.go, then a file
// for each plugin. A plugin that needs several files is a package below, such as noderestriction.
package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
)

// Plugin is a named member of the chain. It does nothing unless it is also a Mutator, a Validator
// or a Reserver.
type Plugin interface {
	// Name is the plugin's name as in --enable-admission-plugins.
	Name() string
	// Handles reports whether the chain calls the plugin for an operation.
	Handles(op Operation) bool
}

// Mutator is a Plugin that may change Attributes.Object, or replace it.
type Mutator interface {
	Plugin
	// Mutate changes the object or refuses the write with a *meta.StatusError. It must be
	// idempotent: it may be called a second time for one try, with a.Reinvoked set.
	Mutate(ctx context.Context, a *Attributes) error
}

// Validator is a Plugin that may refuse a write, but changes nothing.
type Validator interface {
	Plugin
	// Validate refuses the write with a *meta.StatusError, or returns nil.
	Validate(ctx context.Context, a *Attributes) error
}

// Chain is an ordered list of plugins. The zero Chain admits everything.
type Chain []Plugin

// Mutate runs the mutators in order and stops at the first error. If a mutator has called
// Attributes.Reinvoke, all run a second time, so that the mutators before it see the object that
// will be stored.
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	a.Reinvoked, a.again, a.kept, a.final, a.within = false, false, nil, false, within{}
	if a.teller != nil && len(c) > 0 {
		a.teller.begin(ctx, a)
	}
	if err := c.mutate(ctx, a); err != nil || !a.again {
		return err
	}
	a.Reinvoked = true
	return c.mutate(ctx, a)
}

func (c Chain) mutate(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if m, ok := p.(Mutator); ok && p.Handles(a.Operation) {
			if err := run(ctx, a, m, request.PhaseMutate, Mutator.Mutate); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate runs the validators in order, then the reservers, and stops at the first error. The
// caller must call a.Settle when the fate of the try is known, also after an error.
func (c Chain) Validate(ctx context.Context, a *Attributes) error {
	a.final, a.objectView, a.oldView = true, view{}, view{}
	if a.teller != nil && len(c) > 0 {
		a.teller.between(ctx, a)
	}
	for _, p := range c {
		if v, ok := p.(Validator); ok && p.Handles(a.Operation) {
			if err := run(ctx, a, v, request.PhaseValidate, Validator.Validate); err != nil {
				return err
			}
		}
	}
	return c.reserve(ctx, a)
}

// reserve runs the reservers in order and stops at the first error.
func (c Chain) reserve(ctx context.Context, a *Attributes) error {
	before := a.taken
	for _, p := range c {
		if r, ok := p.(Reserver); ok && p.Handles(a.Operation) {
			settle, err := runReserver(ctx, a, r)
			if err != nil {
				return err
			}
			a.Take(settle)
		}
	}
	if a.fence != nil && a.fence.reservers == nil { // else a chain within this one asked for it
		a.fence.reservers, a.fence.before = c, before
	}
	return nil
}
