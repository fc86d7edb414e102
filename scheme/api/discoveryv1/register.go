package discoveryv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}

// Scheme registers the kinds, and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &EndpointSlice{}, &EndpointSliceList{})
	scheme.AddDefaulting(s, func(p *EndpointPort) {
		scheme.SetPointer(&p.Name, "")
		scheme.SetPointer(&p.Protocol, corev1.ProtocolTCP)
	}, "name", "protocol")
	addStored(s)
})
