package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// CreateNamespace creates a namespace. The error is a *meta.StatusError, an AlreadyExists if the
// namespace exists.
type CreateNamespace func(ctx context.Context, name string) error

// NamespaceAutoProvision is the plugin of that name. It creates the namespace of a new object if
// the namespace does not exist. It stands before NamespaceLifecycle, which would refuse the object.
type NamespaceAutoProvision struct {
	namespaces *Namespaces
	create     CreateNamespace
}

// NewNamespaceAutoProvision returns the plugin.
func NewNamespaceAutoProvision(n *Namespaces, create CreateNamespace) NamespaceAutoProvision {
	return NamespaceAutoProvision{n, create}
}

// Name is the plugin's name.
func (NamespaceAutoProvision) Name() string { return "NamespaceAutoProvision" }

// Handles is true for creates.
func (NamespaceAutoProvision) Handles(op Operation) bool { return op == Create }

// Mutate creates the namespace if the cache does not have it. The object stays as it is. A dry run
// creates nothing, so NamespaceLifecycle refuses a dry run in a namespace that does not exist.
func (p NamespaceAutoProvision) Mutate(ctx context.Context, a *Attributes) error {
	if a.DryRun || !inNamespace(a) {
		return nil
	}
	_, err := p.namespaces.Of(ctx, a, request.Cached)
	if meta.IsNotFound(err) {
		if err = p.create(ctx, a.Namespace); meta.IsAlreadyExists(err) {
			return nil
		}
	}
	if err == nil || meta.IsForbidden(err) {
		return err
	}
	return a.Forbidden("%w", err)
}

// NamespaceExists is the plugin of that name. It refuses writes in namespaces that do not exist.
// Unlike NamespaceLifecycle, it also refuses deletions there.
type NamespaceExists struct {
	namespaces *Namespaces
}

// NewNamespaceExists returns the plugin.
func NewNamespaceExists(n *Namespaces) NamespaceExists { return NamespaceExists{n} }

// Name is the plugin's name.
func (NamespaceExists) Name() string { return "NamespaceExists" }

// Handles is true for all operations but connects.
func (NamespaceExists) Handles(op Operation) bool { return op != Connect }

// Validate refuses the write if neither the cache nor the store has the namespace.
func (e NamespaceExists) Validate(ctx context.Context, a *Attributes) error {
	if !inNamespace(a) {
		return nil
	}
	_, err := e.namespaces.Of(ctx, a, request.Cached)
	if meta.IsNotFound(err) {
		// another server may just have created the namespace
		if _, err = e.namespaces.Of(ctx, a, request.Consistent); meta.IsNotFound(err) {
			return err
		}
	}
	if err != nil {
		return meta.NewInternalError(err)
	}
	return nil
}

// inNamespace reports whether the object of a write is in a namespace. A namespace itself is not,
// although requests for its subresources have a.Namespace set.
func inNamespace(a *Attributes) bool {
	return a.Namespace != "" && (a.Kind.Group != "" || a.Kind.Kind != "Namespace")
}
