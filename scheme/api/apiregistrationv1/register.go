package apiregistrationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &APIService{}, &APIServiceList{})
	scheme.AddDefaulting(s, func(r *ServiceReference) { scheme.SetPointer(&r.Port, 443) }, "port")
	// Objects may still be stored in this version. It has the same fields and defaults.
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "APIService"},
		GroupVersion.WithKind("APIService").GroupKind(), &APIService{})
})
