package nodev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "node.k8s.io", Version: "v1"}

// Scheme registers the kinds.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &RuntimeClass{}, &RuntimeClassList{})
	addStored(s)
})
