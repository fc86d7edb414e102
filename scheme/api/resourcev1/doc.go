// Package resourcev1 declares the kinds of resource.k8s.io/v1: devices that nodes offer, and claims
// of workloads to them.
//
// A driver tells in resource slices which devices there are. A device class says which of them are
// meant by a name. A claim, made by a user or from a template, asks for devices of classes; the
// scheduler answers in its status with those that it allocates.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/resource).
//
// Read: slice.go, class.go, claim.go, request.go, allocation.go.
package resourcev1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/resourcev1", "io.k8s.api.resource.v1", source)
}
