// Package flowcontrolv1 declares the kinds of flowcontrol.apiserver.k8s.io/v1: flow schemas, which
// sort requests, and priority level configurations, which tell how many requests of a sort are
// served at once and what the others wait for.
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
