package meta

import "time"

// FindCondition returns the condition of the given type in a list, nil if there is none. The result
// points into the list.
func FindCondition(list []Condition, typ string) *Condition {
	for i := range list {
		if list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// SetCondition adds a condition to a list, or replaces the one of the same type. LastTransitionTime
// becomes now if the status differs from the one before, and is kept otherwise.
func SetCondition(list *[]Condition, c Condition, now time.Time) {
	c.LastTransitionTime = NewTime(now)
	have := FindCondition(*list, c.Type)
	if have == nil {
		*list = append(*list, c)
		return
	}
	if have.Status == c.Status {
		c.LastTransitionTime = have.LastTransitionTime
	}
	*have = c
}
