package router

import (
	"iter"
	"strings"
)

// Of an Accept header, maxClauses elements of up to maxClause bytes are looked at.
const (
	maxClauses = 16
	maxClause  = 1 << 10
)

// clauses yields the elements of an Accept header.
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
