package router

import (
	"iter"
	"strings"
)

// An Accept header can be as long as a client likes. clauses yields at most maxClauses elements and
// skips an element longer than maxClause bytes.
const (
	maxClauses = 16
	maxClause  = 1 << 10
)

// clauses yields the elements of an Accept header, untrimmed.
func clauses(accept string) iter.Seq[string] {
	return func(yield func(string) bool) {
		n := 0
		for clause := range strings.SplitSeq(accept, ",") {
			if n++; n > maxClauses || len(clause) <= maxClause && !yield(clause) {
				return
			}
		}
	}
}
