package meta

import "time"

// FindCondition returns the condition of a type, nil if there is none.
func FindCondition(list []Condition, typ string) *Condition {
	for i := range list {
		if list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// SetCondition adds a condition to a list, or puts it in the place of the one of its type. Its time is now if the status changes, and
// stays if not.
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
