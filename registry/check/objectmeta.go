package check

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ObjectMeta repeats the common checks of metadata, as kube-apiserver's code for some kinds does.
// Most kinds declare that (registry.MetaChecks). This function is for kinds that repeat them more
// than once, or between other checks.
func ObjectMeta(m *meta.ObjectMeta, namespaced bool, name meta.NameRule) field.ErrorList {
	p := field.NewPath("metadata")
	return append(meta.ValidateObjectMeta(m, namespaced, name, p), Finalizers(m)...)
}

// ObjectMetaUpdate repeats the common checks of a change of metadata, as kube-apiserver's code for
// some kinds does.
func ObjectMetaUpdate(m, old *meta.ObjectMeta) field.ErrorList {
	return append(meta.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata")), Finalizers(m)...)
}

// Finalizers reports finalizers without a domain, except Kubernetes' own.
func Finalizers(m *meta.ObjectMeta) field.ErrorList {
	return meta.ValidateFinalizerNames(m.Finalizers, field.NewPath("metadata", "finalizers"))
}
