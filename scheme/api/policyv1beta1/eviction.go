// Package policyv1beta1 declares Eviction, the only kind of policy/v1beta1 that the server accepts.
package policyv1beta1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/policyv1"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/policyv1beta1", "io.k8s.api.policy.v1beta1", source)
}

// Eviction has the fields of that of v1. It is a type of its own, as in Kubernetes, because the
// OpenAPI model of v1 names the version v1 alone.
type Eviction policyv1.Eviction

// Scheme registers the kind.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) { s.AddKnownTypes(policyv1.Beta1, &Eviction{}) })
