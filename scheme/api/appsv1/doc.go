// Package appsv1 declares the kinds of apps/v1, which keep pods running: deployments with the
// replica sets that they make, stateful sets, daemon sets, and the revisions that the latter two
// keep of themselves.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/apps).
package appsv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/appsv1", "io.k8s.api.apps.v1", source)
}
