package check

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ObjectMeta checks metadata as the code for a kind in kube-apiserver does of itself, beside what
// all kinds have in common. Kinds say so in their declaration; this is for those that do it more
// than once, or between other checks.
func ObjectMeta(m *meta.ObjectMeta, namespaced bool, name meta.NameRule) field.ErrorList {
	p := field.NewPath("metadata")
	return append(meta.ValidateObjectMeta(m, namespaced, name, p), Finalizers(m)...)
}

// ObjectMetaUpdate is like ObjectMeta for the change of old metadata.
func ObjectMetaUpdate(m, old *meta.ObjectMeta) field.ErrorList {
	return append(meta.ValidateObjectMetaUpdate(m, old, field.NewPath("metadata")), Finalizers(m)...)
}

// Finalizers reports finalizers without a domain but Kubernetes's own.
func Finalizers(m *meta.ObjectMeta) field.ErrorList {
	return meta.ValidateFinalizerNames(m.Finalizers, field.NewPath("metadata", "finalizers"))
}
