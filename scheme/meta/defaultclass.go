package meta

import (
	"cmp"
	"time"
)

// DefaultClass returns the class that objects get if they name none. That is the newest of the
// classes which are marked as the default; of several that are as new, it is the first by name.
// DefaultClass returns the zero T if no class is marked.
func DefaultClass[T interface {
	comparable
	Object
	IsDefault() bool
}](classes []T) T {
	var best, none T
	for _, c := range classes {
		if c.IsDefault() && (best == none || newestFirst(c.GetObjectMeta(), best.GetObjectMeta()) < 0) {
			best = c
		}
	}
	return best
}

// newestFirst compares objects for sorting: the newest first, and then by name.
func newestFirst(a, b *ObjectMeta) int {
	return cmp.Or(created(b).Compare(created(a)), cmp.Compare(a.Name, b.Name))
}

// created returns when an object was created, the zero time if it does not say.
func created(m *ObjectMeta) time.Time {
	if m.CreationTimestamp == nil {
		return time.Time{}
	}
	return m.CreationTimestamp.Time
}
