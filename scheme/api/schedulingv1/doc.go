// Package schedulingv1 declares the kinds of scheduling.k8s.io/v1. A PriorityClass gives a name to
// a priority of pods.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/scheduling).
package schedulingv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/schedulingv1", "io.k8s.api.scheduling.v1", source)
}
