package differential

import (
	"regexp"
	"sync/atomic"
)

// decision is a difference that is meant, or that has its time later.
type decision struct {
	// kinds and what are regular expressions for the kind and for the line that reports the difference, as a whole.
	kinds, what string
	reason      string

	seen atomic.Int64
}

// decisions are all differences that are listed. What does not occur in a run is logged at its end.
var decisions = []*decision{}

// decided reports whether a difference is listed.
func decided(kind, what string) bool {
	for _, d := range decisions {
		if matches(d.kinds, kind) && matches(d.what, what) {
			d.seen.Add(1)
			return true
		}
	}
	return false
}

func matches(pattern, s string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s)
}
