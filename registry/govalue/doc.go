// Package govalue renders values of the API for error messages as kube-apiserver does: with the
// names of Go fields. Clients see these texts, so they must be the same.
//
// That server validates a second, internal set of types, which have no JSON names: fields appear
// under their Go names, and unset ones as null or empty. JSON renders a value so, Diff the
// difference of two. Both are bounded, in size and in work, whatever the values are.
//
// Read: json.go, diff.go.
package govalue
