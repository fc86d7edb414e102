package accounts

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// namespaceView is the part of a namespace that the loops of this package need.
type namespaceView struct {
	Active bool // status.phase is Active; once a namespace is Terminating it never is Active again
}

// namespacesOf returns the Informer of namespaces. RootCA and ServiceAccount share it, because
// Informers makes one for each view.
func namespacesOf(in *controller.Informers) *controller.Informer[namespaceView] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("namespaces"),
		func(ns *corev1.Namespace) *namespaceView {
			return &namespaceView{Active: ns.Status.Phase == corev1.NamespaceActive}
		})
}

// inEveryNamespace is the Source of a loop that keeps one object called name in each namespace.
// It adds namespace/name when the namespace becomes active, and when the object of that name is
// created, changed or deleted. A field selector keeps all other objects of the resource off the
// watch: Kubernetes' controllers watch all of them and filter.
func inEveryNamespace[T meta.Object](
	in *controller.Informers, objects client.Resource[T], name string,
) controller.Source {
	return controller.Join(
		namespacesOf(in).Source(func(ns controller.Name, _, now *namespaceView) []controller.Name {
			if now == nil || !now.Active {
				return nil
			}
			return []controller.Name{{Namespace: ns.Name, Name: name}}
		}),
		controller.Watch(objects, meta.ListOptions{FieldSelector: "metadata.name=" + name}),
	)
}

// active reports whether a namespace exists and is not being deleted, as far as the Informer has
// seen. It may be late: the server rejects a create in a namespace that is Terminating by then, and
// controller.IsNamespaceEnding recognizes that error.
func active(namespaces *controller.Informer[namespaceView], name string) bool {
	ns := namespaces.Get(controller.Name{Name: name})
	return ns != nil && ns.Active
}
