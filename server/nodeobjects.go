package server

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// nodeObjects implements noderestriction.Objects.
type nodeObjects struct{ Stores }

func (s nodeObjects) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return lookUp[*corev1.Pod](ctx, s.Stores, pods, namespace, name)
}

func (s nodeObjects) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return lookUp[*corev1.Node](ctx, s.Stores, nodes, "", name)
}

func (s nodeObjects) Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return lookUp[*corev1.PersistentVolumeClaim](ctx, s.Stores, claims, namespace, name)
}

func (s nodeObjects) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return lookUp[*corev1.PersistentVolume](ctx, s.Stores, volumes, "", name)
}

func (s nodeObjects) Driver(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	return lookUp[*storagev1.CSIDriver](ctx, s.Stores, csiDrivers, "", name)
}

// lookUp gets an object; on a server without its resource there is none. Of one that is not there it says what kube-apiserver does, which
// asks informers, that name it in the singular.
func lookUp[T meta.Object](ctx context.Context, stores Stores, gr meta.GroupResource, namespace, name string) (T, error) {
	one := meta.GroupResource{Group: gr.Group, Resource: strings.TrimSuffix(gr.Resource, "s")}
	store := stores.Store(gr)
	if store == nil {
		return *new(T), meta.NewNotFound(one, name)
	}
	view, err := registry.ViewOf[T](store)
	if err != nil {
		return *new(T), meta.NewInternalError(err)
	}
	obj, err := view.Get(ctx, namespace, name)
	if meta.IsNotFound(err) {
		return *new(T), meta.NewNotFound(one, name)
	}
	return obj, err
}
