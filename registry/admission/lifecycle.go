package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NamespaceLifecycle is the plugin of that name. It refuses objects in namespaces that do not
// exist, new objects in namespaces that are being deleted, and deletions of the namespaces that
// every cluster needs.
type NamespaceLifecycle struct {
	namespaces *Namespaces
}

// immortal lists the namespaces that cannot be deleted.
var immortal = []string{"default", "kube-system", "kube-public"}

// localReviews are answered in any namespace, even if it does not exist: otherwise the answer would
// tell users without rights which namespaces exist.
var localReviews = meta.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}

// NewNamespaceLifecycle returns the plugin.
func NewNamespaceLifecycle(n *Namespaces) *NamespaceLifecycle { return &NamespaceLifecycle{n} }

// Name is the plugin's name.
func (*NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// Handles is true for all operations but connects.
func (*NamespaceLifecycle) Handles(op Operation) bool { return op != Connect }

// Mutate refuses the write or does nothing. It changes nothing: it is a mutator so that it runs
// before other plugins and validation spend work on the object.
func (l *NamespaceLifecycle) Mutate(ctx context.Context, a *Attributes) error {
	isNamespace := a.Resource.Group == "" && a.Resource.Resource == "namespaces"
	if a.Operation == Delete {
		if isNamespace && slices.Contains(immortal, a.Name) {
			return a.Forbidden("this namespace may not be deleted")
		}
		return nil
	}
	if isNamespace || a.Namespace == "" || a.Resource.GroupResource() == localReviews {
		return nil
	}
	// An object that exists may change while its namespace is being deleted, so the cache is fresh
	// enough.
	if a.Operation == Update {
		_, err := l.namespaces.Of(ctx, a, request.Cached)
		if !meta.IsNotFound(err) {
			return err
		}
	}
	// the cache may not have seen the namespace or its deletion yet
	namespace, err := l.namespaces.Of(ctx, a, request.Consistent)
	if err == nil && a.Operation == Create && namespace.Terminating {
		return terminating(a)
	}
	return err
}

// terminating returns the 403 for a create in a namespace that is being deleted. Clients recognise
// it by its cause.
func terminating(a *Attributes) error {
	err := a.Forbidden("unable to create new content in namespace %s because it is being terminated", a.Namespace)
	err.Status.Details.Causes = append(err.Status.Details.Causes, meta.StatusCause{
		Type:    "NamespaceTerminating",
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}
