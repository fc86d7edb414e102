// Package apidiscoveryv2 declares apidiscovery.k8s.io/v2: aggregated discovery, everything that a
// server serves in one document.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: what is served, and how the document is built and negotiated (router).
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
