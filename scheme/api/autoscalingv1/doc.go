// Package autoscalingv1 declares the kinds of autoscaling/v1: horizontal pod autoscalers in their
// first form, which is a view of those of autoscaling/v2, and Scale, which other groups show the
// sizes of their objects by.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: validation, strategies and printing (registry/autoscaling), the door through which
// objects are scaled (registry/scale).
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
