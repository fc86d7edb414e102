package policyv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "policy", Version: "v1"}

// Beta1 is an older version of the group. The server accepts evictions in it.
var Beta1 = meta.GroupVersion{Group: "policy", Version: "v1beta1"}

// Scheme registers the kinds.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &PodDisruptionBudget{}, &PodDisruptionBudgetList{}, &Eviction{})
	addStored(s)
})
