package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Namespace is what plugins may know of the namespace of a write.
type Namespace struct {
	Labels      meta.Lookup // never nil
	Terminating bool        // it is being deleted
}

// LookUp reads a namespace. The error is a *meta.StatusError.
type LookUp func(ctx context.Context, name string, fresh request.Freshness) (Namespace, error)

// Namespaces has the namespace of a write at hand for all plugins: it is looked up once for each
// try.
type Namespaces struct{ lookUp LookUp }

// NewNamespaces returns the Namespaces that a function looks up.
func NewNamespaces(f LookUp) *Namespaces { return &Namespaces{f} }

// Of returns the namespace of a write, a.Namespace, which must not be "", at least as fresh as it
// is asked for.
func (n *Namespaces) Of(ctx context.Context, a *Attributes, fresh request.Freshness) (Namespace, error) {
	if a.within.read && a.within.fresh <= fresh {
		return a.within.Namespace, nil
	}
	found, err := n.lookUp(ctx, a.Namespace, fresh)
	if err != nil {
		return Namespace{}, err
	}
	a.within = within{found, true, fresh}
	return found, nil
}

// within is the namespace of a write as it was looked up.
type within struct {
	Namespace
	read  bool
	fresh request.Freshness
}
