package accounts

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// namespaceView is what controllers need to know of a namespace.
type namespaceView struct {
	Active bool // nobody has deleted it
}

// namespacesOf returns the Informer of namespaces, which all controllers of a run share.
func namespacesOf(in *controller.Informers) *controller.Informer[namespaceView] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("namespaces"), func(ns *corev1.Namespace) *namespaceView {
		return &namespaceView{Active: ns.Status.Phase == corev1.NamespaceActive}
	})
}

// inEveryNamespace is the Source for who looks after the objects of one name in all namespaces.
func inEveryNamespace[T meta.Object](in *controller.Informers, objects client.Resource[T], name string) controller.Source {
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

// active reports whether things can be made in a namespace, as far as is known.
func active(namespaces *controller.Informer[namespaceView], name string) bool {
	ns := namespaces.Get(controller.Name{Name: name})
	return ns != nil && ns.Active
}
