package corev1

import (
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Condition returns the condition of a type, nil if there is none.
func (s *PodStatus) Condition(typ PodConditionType) *PodCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == typ {
			return &s.Conditions[i]
		}
	}
	return nil
}

// SetCondition adds a condition, or replaces the condition of its type. The transition time is now
// if the status changes; otherwise it stays.
func (s *PodStatus) SetCondition(c PodCondition, now time.Time) {
	c.LastTransitionTime = meta.NewTime(now)
	have := s.Condition(c.Type)
	if have == nil {
		s.Conditions = append(s.Conditions, c)
		return
	}
	if have.Status == c.Status {
		c.LastTransitionTime = have.LastTransitionTime
	}
	*have = c
}

// Ready reports whether the condition PodReady is true.
func (s *PodStatus) Ready() bool {
	c := s.Condition(PodReady)
	return c != nil && c.Status == ConditionTrue
}
