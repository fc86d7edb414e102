// Package eventsv1 declares the kinds of events.k8s.io/v1. An event of this group is another form
// of an event of the core group, with fewer and clearer fields. The hub is corev1.Event, and events
// are stored in the core group.
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
