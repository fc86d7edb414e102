// Package networkingv1 declares the kinds of networking.k8s.io/v1. Ingresses and ingress classes
// lead requests from outside the cluster to services. Network policies limit the traffic of pods.
// An IPAddress records who has an address; ServiceCIDRs are the ranges that the addresses of
// services are taken from.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/networking).
package networkingv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/networkingv1", "io.k8s.api.networking.v1", source)
}
