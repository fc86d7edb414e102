// Package autoscalingv1 declares the kinds of autoscaling/v1. A HorizontalPodAutoscaler of this
// version is another form of one of autoscaling/v2; annotations hold the fields of v2 that v1
// lacks. A Scale shows and sets the number of replicas of an object of any group.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/autoscaling); the subresource scale
// (registry/scale).
package autoscalingv1

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/autoscalingv1", "io.k8s.api.autoscaling.v1", source)
}
