// Package appsv1 declares the kinds of apps/v1, which keep pods running: deployments, the replica
// sets that deployments make, stateful sets, daemon sets, and controller revisions. A controller
// revision keeps an earlier state of a stateful set or a daemon set.
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
