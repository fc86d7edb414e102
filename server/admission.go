package server

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// newAdmission makes the chain of plugins that every write passes. kubelets are restricted where a mode lets them in.
func newAdmission(c AdmissionConfig, kubelets bool, resources Stores, may request.Authorizer) (admission.Chain, error) {
	chain := admission.Chain{admission.NewNamespaceLifecycle(known{resources, namespaces})}
	if kubelets {
		chain = append(chain, admission.NewNodeRestriction(nodeObjects{resources}, may))
	}
	chain = append(chain,
		admission.TaintNodesByCondition{},
		admission.NewPriority(registry.KnownOf[*schedulingv1.PriorityClass](resources, priorityClasses)),
		admission.DefaultTolerationSeconds{},
		admission.StorageObjectInUseProtection{}, admission.NewDeviceAdminAccess(known{resources, namespaces}),
		admission.NewPodTopologyLabels(known{resources, nodes}),
	)
	if c.Plugins == nil {
		return chain, nil
	}
	more, err := c.Plugins(resources)
	return append(chain, more...), err
}

// known is what admission is told about the objects of a resource. On a server without it everything will do, and nothing has
// labels.
type known struct {
	resources Stores
	resource  meta.GroupResource
}

// Field implements admission.Namespaces.
func (k known) Field(ctx context.Context, namespace, name, path, resourceVersion string) (string, error) {
	store := k.resources.Store(k.resource)
	if store == nil {
		return "", nil
	}
	return store.Field(ctx, namespace, name, path, resourceVersion)
}

// Label implements admission.Labels.
func (k known) Label(ctx context.Context, namespace, name, key string) (value string, ok bool, err error) {
	store := k.resources.Store(k.resource)
	if store == nil {
		return "", false, nil
	}
	return store.Label(ctx, namespace, name, key)
}
