package autoscalingv2

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "autoscaling", Version: "v2"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &HorizontalPodAutoscaler{}, &HorizontalPodAutoscalerList{})
	scheme.AddDefaulting(s, defaultAutoscaler)
	scheme.AddDefaulting(s, CompleteBehavior)
})
