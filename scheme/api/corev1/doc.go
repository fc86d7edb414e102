// Package corev1 declares the kinds of the core group, version v1: namespaces, configuration,
// accounts, nodes, pods, services, events, persistent volumes and the claims for them.
//
// The struct tags are the only declaration: codecs, copies, declarative defaults, OpenAPI, patches
// and apply follow from them (see scheme/typeinfo). Field comments are the descriptions in OpenAPI.
// defaults.go adds the defaults that a tag cannot express.
//
// Not here: validation, strategies and printing (registry/core).
//
// Read: register.go, then the file of the kind; defaults.go and its neighbours.
package corev1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/corev1", "io.k8s.api.core.v1", source)
}
