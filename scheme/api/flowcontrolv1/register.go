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
})

func defaultFlowSchemaSpec(s *FlowSchemaSpec) { scheme.SetDefault(&s.MatchingPrecedence, 1000) }

func defaultExempt(e *ExemptPriorityLevelConfiguration) {
	scheme.SetPointer(&e.NominalConcurrencyShares, 0)
	scheme.SetPointer(&e.LendablePercent, 0)
}

func defaultLimited(l *LimitedPriorityLevelConfiguration) {
	scheme.SetPointer(&l.NominalConcurrencyShares, 30)
	scheme.SetPointer(&l.LendablePercent, 0)
}

func defaultQueuing(q *QueuingConfiguration) {
	scheme.SetDefault(&q.HandSize, 8)
	scheme.SetDefault(&q.Queues, 64)
	scheme.SetDefault(&q.QueueLengthLimit, 50)
}
