// Package networkingv1 declares the kinds of networking.k8s.io/v1: how traffic from outside reaches
// services (ingresses and their classes), which traffic pods may have (network policies), and the
// addresses that services get (IP addresses and the ranges they are from).
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
