// Package nodev1 declares the kinds of node.k8s.io/v1. A RuntimeClass names a container runtime of
// nodes, and pods choose the runtime by that name.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/node).
package nodev1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/nodev1", "io.k8s.api.node.v1", source)
}
