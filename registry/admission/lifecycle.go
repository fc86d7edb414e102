package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// NamespaceLifecycle keeps objects out of namespaces that do not exist or are being deleted, and
// protects the namespaces that every cluster needs.
type NamespaceLifecycle struct {
	namespaces *Namespaces
}

// immortal namespaces cannot be deleted.
var immortal = []string{"default", "kube-system", "kube-public"}

// localReviews are answered in any namespace: who may ask for them there must not learn by them
// which there are.
var localReviews = meta.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}

// NewNamespaceLifecycle returns the plugin.
func NewNamespaceLifecycle(n *Namespaces) *NamespaceLifecycle { return &NamespaceLifecycle{n} }

// Name is the plugin's name.
func (*NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// Handles is true but for connects.
func (*NamespaceLifecycle) Handles(op Operation) bool { return op != Connect }

// Mutate changes nothing: it stands with the mutators to come before all work on the object.
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
	if a.Operation == Update { // what exists may change until it is gone; whether its namespace exists is all that counts
		_, err := l.namespaces.Of(ctx, a, request.Cached)
		if !meta.IsNotFound(err) {
			return err
		}
	}
	namespace, err := l.namespaces.Of(ctx, a, request.Consistent) // a deletion that has begun must be seen
	if err == nil && a.Operation == Create && namespace.Terminating {
		return terminating(a)
	}
	return err
}

// terminating is the answer to who creates something in a namespace that is being emptied.
func terminating(a *Attributes) error {
	err := a.Forbidden("unable to create new content in namespace %s because it is being terminated", a.Namespace)
	err.Status.Details.Causes = append(err.Status.Details.Causes, meta.StatusCause{
		Type:    "NamespaceTerminating",
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}
