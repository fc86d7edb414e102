package policyv1

import (
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// DisruptionAllowed is the condition of a budget that tells whether pods may be evicted, and these
// are its reasons.
const (
	DisruptionAllowed = "DisruptionAllowed"

	ReasonSufficientPods   = "SufficientPods"
	ReasonInsufficientPods = "InsufficientPods"
	ReasonSyncFailed       = "SyncFailed" // the pods could not be counted
)

// SetDisruptionAllowed sets the condition DisruptionAllowed: it is true if the status allows a
// disruption.
func (s *PodDisruptionBudgetStatus) SetDisruptionAllowed(now time.Time) {
	c := meta.Condition{
		Type: DisruptionAllowed, Status: meta.ConditionFalse, Reason: ReasonInsufficientPods,
		ObservedGeneration: s.ObservedGeneration,
	}
	if s.DisruptionsAllowed > 0 {
		c.Status, c.Reason = meta.ConditionTrue, ReasonSufficientPods
	}
	meta.SetCondition(&s.Conditions, c, now)
}
