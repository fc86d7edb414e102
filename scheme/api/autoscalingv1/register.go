package autoscalingv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "autoscaling", Version: "v1"}

// Scheme registers the kinds, their defaults, and the conversion to autoscaling/v2.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &HorizontalPodAutoscaler{}, &HorizontalPodAutoscalerList{}, &Scale{})
	scheme.AddDefaulting(s,
		func(a *HorizontalPodAutoscaler) { scheme.SetPointer(&a.Spec.MinReplicas, 1) },
		"spec.minReplicas",
	)
	addConversions(s)
})
