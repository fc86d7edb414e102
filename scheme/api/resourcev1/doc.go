// Package resourcev1 declares the kinds of resource.k8s.io/v1: the devices that nodes offer, and
// the claims of workloads to devices.
//
// A driver lists its devices in resource slices. A device class selects devices and gives the
// selection a name. A claim asks for devices of classes; a user makes it, or it is made from a
// template. The scheduler writes the devices that it allocates into the status of the claim.
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
