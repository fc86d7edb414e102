package admission

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
)

// StorageObjectInUseProtection is the plugin of that name. It adds a finalizer to new volumes,
// claims and VolumeAttributesClasses, so that a deletion waits while they are in use. A controller
// outside this server removes the finalizer when nobody uses the object.
type StorageObjectInUseProtection struct{}

var protections = map[meta.GroupResource]string{
	{Resource: "persistentvolumes"}:                                "kubernetes.io/pv-protection",
	{Resource: "persistentvolumeclaims"}:                           "kubernetes.io/pvc-protection",
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}: "kubernetes.io/vac-protection",
}

// Name is the plugin's name.
func (StorageObjectInUseProtection) Name() string { return "StorageObjectInUseProtection" }

// Handles is true for creates.
func (StorageObjectInUseProtection) Handles(op Operation) bool { return op == Create }

// Mutate adds the finalizer of the resource to a new object.
func (StorageObjectInUseProtection) Mutate(_ context.Context, a *Attributes) error {
	finalizer, ok := protections[a.Resource.GroupResource()]
	if !ok || a.Subresource != "" {
		return nil
	}
	if m := a.Meta(); !slices.Contains(m.Finalizers, finalizer) {
		m.Finalizers = append(m.Finalizers, finalizer)
	}
	return nil
}
