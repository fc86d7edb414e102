package apiregistrationv1

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Local is the condition of an APIService whose version this server serves itself.
var Local = APIServiceCondition{
	Type: Available, Status: ConditionTrue, Reason: "Local", Message: "Local APIServices are always available",
}

// Condition returns the condition of a type, nil if there is none.
func Condition(s *APIService, typ APIServiceConditionType) *APIServiceCondition {
	i := slices.IndexFunc(s.Status.Conditions, func(c APIServiceCondition) bool { return c.Type == typ })
	if i < 0 {
		return nil
	}
	return &s.Status.Conditions[i]
}

// SetCondition sets a condition. The time of its last transition is now if its status changes.
func SetCondition(s *APIService, c APIServiceCondition, now meta.Time) {
	c.LastTransitionTime = now
	old := Condition(s, c.Type)
	if old == nil {
		s.Status.Conditions = append(slices.Clip(s.Status.Conditions), c)
		return
	}
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	*old = c
}
