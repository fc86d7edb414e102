// Package apidiscoveryv2 declares the kinds of apidiscovery.k8s.io/v2, aggregated discovery: one
// document lists everything that a server serves.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: which resources are served, and how the document is built and negotiated (router).
package apidiscoveryv2

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed discovery.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/apidiscoveryv2", "io.k8s.api.apidiscovery.v2", source)
}
