// Package govalue shows values of the API as kube-apiserver shows them in its messages: in terms of
// Go types.
//
// That server validates a second, internal set of types, which have no JSON names: fields appear
// under their Go names, and unset ones as null or empty. JSON renders a value so, Diff the
// difference of two. Both are bounded, in size and in work, whatever the values are.
//
// Read: json.go, diff.go.
package govalue
