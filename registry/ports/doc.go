// Package ports hands out the ports of a range, each to one taker at a time, among all servers of a
// store.
//
// Which ports are taken is one record in the store, a RangeAllocation with a bit for each port of
// the range, as kube-apiserver keeps it. Every change compares and swaps it, so that servers of
// either sort may share it. Who has a port the record does not say: that is for those who took it
// to write down. A port is taken before that, and released after it is struck out, so that whoever
// is killed in between leaves a port that nobody has, never one that two have. What finds such
// ports again compares the record with what is written down (Load, Replace).
//
// Not here: what ports are for (core).
//
// Read: span.go, set.go, allocator.go.
package ports
