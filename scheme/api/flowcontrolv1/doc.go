// Package flowcontrolv1 declares the kinds of flowcontrol.apiserver.k8s.io/v1. A FlowSchema assigns
// requests to a priority level. A PriorityLevelConfiguration says how many requests of its level
// are served at once, and whether further requests wait or are refused.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/flowcontrol).
package flowcontrolv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/flowcontrolv1", "io.k8s.api.flowcontrol.v1", source)
}
