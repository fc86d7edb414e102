package plugins

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/registry/admission/resourcequota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file reads objects for plugins, with the functions of registry/read.go. newNeeds and the
// table give these readers to the plugins.

// reader reads the namespaces and nodes that several plugins need.
type reader struct{ stores registry.Stores }

// namespace reads a namespace for admission.Namespaces. On a server that does not serve namespaces,
// every namespace exists and has no labels.
func (s reader) namespace(ctx context.Context, name string, fresh request.Freshness) (admission.Namespace, error) {
	found, ok, err := s.selectable(ctx, namespaces, name, fresh)
	if !ok || err != nil {
		return admission.Namespace{Labels: meta.Set(nil)}, err
	}
	return admission.Namespace{Labels: found.Labels(), Terminating: found.Field("status.phase") == "Terminating"}, nil
}

// nodeLabels implements admission.NodeLabels. On a server that does not serve nodes, no node has
// labels.
func (s reader) nodeLabels(ctx context.Context, node string) (meta.Lookup, error) {
	found, ok, err := s.selectable(ctx, nodes, node, request.Consistent)
	if !ok || err != nil {
		return meta.Set(nil), err
	}
	return found.Labels(), nil
}

// node implements admission.ReadNode. kube-apiserver reads nodes from a cache. This server also
// sees a node that it or another server has just created.
func (s reader) node(ctx context.Context, name string) (*corev1.Node, error) {
	return registry.Read[*corev1.Node](ctx, s.stores, nodes, "", name, request.ReadYourWrites)
}

// createNamespace implements admission.CreateNamespace. The write is the server's own, so it passes
// no plugin.
func (s reader) createNamespace(ctx context.Context, name string) error {
	view, err := registry.ViewOf[*corev1.Namespace](s.stores.Store(namespaces))
	if err != nil {
		return meta.NewInternalError(err)
	}
	return view.Create(ctx, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
}

// selectable returns the labels and fields of a cluster-scoped object. It does not decode the
// object. ok is false if the resource is not served.
func (s reader) selectable(
	ctx context.Context, of meta.GroupResource, name string, fresh request.Freshness,
) (found registry.Selectable, ok bool, err error) {
	store := s.stores.Store(of)
	if store == nil {
		return found, false, nil
	}
	found, err = store.Selectable(ctx, "", name, fresh)
	return found, true, err
}

// accounts returns an admission.ServiceAccounts. On a server that does not serve service accounts,
// there are none.
func accounts(stores registry.Stores) admission.ServiceAccounts {
	return registry.NewObjectMemo[*corev1.ServiceAccount](stores, serviceAccounts).Get
}

// annotations returns an admission.NamespaceAnnotations. On a server that does not serve
// namespaces, no namespace has annotations.
func annotations(stores registry.Stores) admission.NamespaceAnnotations {
	memo := registry.NewObjectMemo[*corev1.Namespace](stores, namespaces)
	return func(ctx context.Context, name string) (map[string]string, error) {
		if stores.Store(namespaces) == nil {
			return nil, nil
		}
		namespace, err := memo.Get(ctx, "", name, request.ReadYourWrites)
		if err != nil {
			return nil, err
		}
		return namespace.Annotations, nil
	}
}

// nodeObjects implements noderestriction.Objects, with consistent reads.
type nodeObjects struct{ stores registry.Stores }

func (s nodeObjects) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return lookUp[*corev1.Pod](ctx, s.stores, pods, namespace, name)
}

func (s nodeObjects) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return lookUp[*corev1.Node](ctx, s.stores, nodes, "", name)
}

func (s nodeObjects) Claim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	return lookUp[*corev1.PersistentVolumeClaim](ctx, s.stores, claims, namespace, name)
}

func (s nodeObjects) Volume(ctx context.Context, name string) (*corev1.PersistentVolume, error) {
	return lookUp[*corev1.PersistentVolume](ctx, s.stores, volumes, "", name)
}

func (s nodeObjects) Driver(ctx context.Context, name string) (*storagev1.CSIDriver, error) {
	return lookUp[*storagev1.CSIDriver](ctx, s.stores, csiDrivers, "", name)
}

// lookUp reads an object, consistently. A NotFound error names the resource in the singular, as in:
// pod "a" not found. The plugins of kube-apiserver read from listers, whose errors do so, and
// clients see the text.
func lookUp[T meta.Object](
	ctx context.Context, stores registry.Stores, gr meta.GroupResource, namespace, name string,
) (T, error) {
	obj, err := registry.Read[T](ctx, stores, gr, namespace, name, request.Consistent)
	if meta.IsNotFound(err) {
		one := meta.GroupResource{Group: gr.Group, Resource: strings.TrimSuffix(gr.Resource, "s")}
		return *new(T), meta.NewNotFound(one, name)
	}
	return obj, err
}

// newResourceQuota makes the plugin ResourceQuota with the limited resources of its configuration.
func newResourceQuota(n *needs) (admission.Plugin, error) {
	limited, err := quota.Limited(n.configuration)
	if err != nil {
		return nil, err
	}
	return resourcequota.New(resourcequota.NewBooks(n.Stores), limited), nil
}
