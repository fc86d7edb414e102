package controller

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// namespaceView is what controllers need to know of a namespace.
type namespaceView struct {
	Active bool // nobody has deleted it
}

// namespacesOf returns the Informer of namespaces, which all controllers of a run share.
func namespacesOf(in *Informers) *Informer[namespaceView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("namespaces"), func(ns *corev1.Namespace) *namespaceView {
		return &namespaceView{Active: ns.Status.Phase == corev1.NamespaceActive}
	})
}

// inEveryNamespace is the Source for who looks after the objects of one name in all namespaces.
func inEveryNamespace[T meta.Object](in *Informers, objects client.Resource[T], name string) Source {
	return Join(
		namespacesOf(in).Source(func(ns Name, _, now *namespaceView) []Name {
			if now == nil || !now.Active {
				return nil
			}
			return []Name{{ns.Name, name}}
		}),
		Watch(objects, meta.ListOptions{FieldSelector: "metadata.name=" + name}),
	)
}

// active reports whether things can be made in a namespace, as far as is known.
func active(namespaces *Informer[namespaceView], name string) bool {
	ns := namespaces.Get(Name{Name: name})
	return ns != nil && ns.Active
}
