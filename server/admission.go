package server

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

var priorityClasses = meta.GroupResource{Group: schedulingv1.GroupVersion.Group, Resource: "priorityclasses"}

// newAdmission makes the chain of plugins that every write passes.
func newAdmission(c AdmissionConfig, resources Stores) (admission.Chain, error) {
	chain := admission.Chain{
		admission.NewNamespaceLifecycle(namespaces{resources}),
		admission.TaintNodesByCondition{},
		admission.NewPriority(registry.KnownOf[*schedulingv1.PriorityClass](resources, priorityClasses)),
		admission.DefaultTolerationSeconds{},
		admission.StorageObjectInUseProtection{}, admission.NewDeviceAdminAccess(labels{resources, "namespaces"}),
		admission.NewPodTopologyLabels(labels{resources, "nodes"}),
	}
	if c.Plugins == nil {
		return chain, nil
	}
	more, err := c.Plugins(resources)
	return append(chain, more...), err
}

// namespaces shows admission what is known of namespaces. On a server without them every namespace will do.
type namespaces struct{ resources Stores }

// Field implements admission.Namespaces.
func (n namespaces) Field(ctx context.Context, namespace, name, path, resourceVersion string) (string, error) {
	store := n.resources.Store(meta.GroupResource{Resource: "namespaces"})
	if store == nil {
		return "", nil
	}
	return store.Field(ctx, namespace, name, path, resourceVersion)
}

// labels are those of a resource of the core group. On a server without it nothing has labels.
type labels struct {
	resources Stores
	resource  string
}

// Label implements admission.Labels.
func (l labels) Label(ctx context.Context, namespace, name, key string) (value string, ok bool, err error) {
	store := l.resources.Store(meta.GroupResource{Resource: l.resource})
	if store == nil {
		return "", false, nil
	}
	return store.Label(ctx, namespace, name, key)
}
