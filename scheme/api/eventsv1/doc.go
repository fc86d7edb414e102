// Package eventsv1 declares the kinds of events.k8s.io/v1: events, with fewer and clearer fields
// than those of the core group have. They are the same objects: the hub is corev1.Event, and the
// core group is where they are stored.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/core).
package eventsv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/eventsv1", "io.k8s.api.events.v1", source)
}
