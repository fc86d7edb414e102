// Package discoveryv1 declares the kinds of discovery.k8s.io/v1. An EndpointSlice lists endpoints
// of a service.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/discovery).
package discoveryv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/discoveryv1", "io.k8s.api.discovery.v1", source)
}
