package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Namespace has the facts about a namespace that plugins use.
type Namespace struct {
	Labels      meta.Lookup // never nil
	Terminating bool        // the namespace is being deleted
}

// LookUp reads a namespace. The error is a *meta.StatusError.
type LookUp func(ctx context.Context, name string, fresh request.Freshness) (Namespace, error)

// Namespaces looks up the namespace of a write for all plugins that need it. The result is kept in
// Attributes, so that plugins of one run share one lookup.
type Namespaces struct{ lookUp LookUp }

// NewNamespaces returns Namespaces that read through f.
func NewNamespaces(f LookUp) *Namespaces { return &Namespaces{f} }

// Of returns the namespace a.Namespace, which must not be "". The result may come from an earlier
// call of the same run if that was at least as fresh.
func (n *Namespaces) Of(ctx context.Context, a *Attributes, fresh request.Freshness) (Namespace, error) {
	return n.Named(ctx, a, a.Namespace, fresh)
}

// Named returns the namespace called name, under the rules of Of. name is a.Namespace, or a.Name
// for a write of a namespace itself. It must be the same at each call for a, which keeps one
// result.
func (n *Namespaces) Named(
	ctx context.Context, a *Attributes, name string, fresh request.Freshness,
) (Namespace, error) {
	if a.within.read && a.within.fresh <= fresh {
		return a.within.Namespace, nil
	}
	found, err := n.lookUp(ctx, name, fresh)
	if err != nil {
		return Namespace{}, err
	}
	a.within = within{found, true, fresh}
	return found, nil
}

// within is the result of the last lookup; read is false if there was none.
type within struct {
	Namespace
	read  bool
	fresh request.Freshness
}
