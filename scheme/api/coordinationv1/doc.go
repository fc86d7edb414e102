// Package coordinationv1 declares the kinds of coordination.k8s.io/v1. With leases the components
// of a system elect leaders and show that they are alive.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/coordination).
package coordinationv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/coordinationv1", "io.k8s.api.coordination.v1", source)
}
