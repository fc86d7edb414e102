package flowcontrolv1

import "github.com/coracle-project/coracle/scheme"

func defaultFlowSchemaSpec(s *FlowSchemaSpec) { scheme.SetDefault(&s.MatchingPrecedence, 1000) }

func defaultExempt(e *ExemptPriorityLevelConfiguration) {
	scheme.SetPointer(&e.NominalConcurrencyShares, 0)
	scheme.SetPointer(&e.LendablePercent, 0)
}

func defaultLimited(l *LimitedPriorityLevelConfiguration) {
	scheme.SetPointer(&l.NominalConcurrencyShares, defaultShares)
	scheme.SetPointer(&l.LendablePercent, 0)
}

func defaultQueuing(q *QueuingConfiguration) {
	scheme.SetDefault(&q.HandSize, 8)
	scheme.SetDefault(&q.Queues, 64)
	scheme.SetDefault(&q.QueueLengthLimit, 50)
}
