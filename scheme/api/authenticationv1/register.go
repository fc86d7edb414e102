package authenticationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "authentication.k8s.io", Version: "v1"}

// Scheme registers the kinds.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &TokenRequest{})
	scheme.AddDefaulting(s, defaultTokenRequestSpec)
})
