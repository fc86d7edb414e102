// Package autoscalingv2 declares the kinds of autoscaling/v2. A HorizontalPodAutoscaler changes the
// scale of another object as measurements require. Autoscalers are stored in this version.
//
// The struct tags are the only declaration; see scheme/typeinfo. Field comments are the
// descriptions in OpenAPI.
//
// Not here: the older version and its conversion (scheme/api/autoscalingv1); validation, strategies
// and printing (registry/autoscaling).
package autoscalingv2

import (
	"embed"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

//go:embed *.go
var source embed.FS

func init() {
	typeinfo.Package("github.com/coracle-project/coracle/scheme/api/autoscalingv2", "io.k8s.api.autoscaling.v2", source)
}
