package flowcontrolv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&FlowSchema{}, &FlowSchemaList{},
		&PriorityLevelConfiguration{}, &PriorityLevelConfigurationList{},
	)
	scheme.AddDefaulting(s, defaultFlowSchemaSpec)
	scheme.AddDefaulting(s, defaultExempt)
	scheme.AddDefaulting(s, defaultLimited)
	scheme.AddDefaulting(s, defaultQueuing)
	addStored(s)
})
