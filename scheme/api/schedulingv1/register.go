package schedulingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "scheduling.k8s.io", Version: "v1"}

// Scheme registers the kinds, and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &PriorityClass{}, &PriorityClassList{})
	scheme.AddDefaulting(s, defaultPriorityClass)
	// Objects may still be stored in this version. It has the same fields and defaults.
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "PriorityClass"},
		GroupVersion.WithKind("PriorityClass").GroupKind(), &PriorityClass{})
})
