package coordinationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "coordination.k8s.io", Version: "v1"}

// Scheme registers the kinds.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &Lease{}, &LeaseList{})
	// Objects may still be stored in this version. It has the same fields.
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: "Lease"},
		GroupVersion.WithKind("Lease").GroupKind(), &Lease{})
})
