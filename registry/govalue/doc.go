// Package govalue renders values of the API for error messages as kube-apiserver does: with the
// names of Go fields. Clients see these texts, so they must be the same.
//
// kube-apiserver validates a second, internal set of types, which have no JSON names. If one of
// their values is in a message, its fields appear under their Go names, and unset ones as null or
// empty: a toleration of the key a is
//
//	{"Key":"a","Operator":"","Value":"","Effect":"","TolerationSeconds":null}
//
// JSON renders one value in this form, and Diff the difference of two values, line by line. Both
// are bounded, in size and in work, whatever the values are. They may be called at once. Checks in
// registry put the result of JSON into a field.Invalid.
//
// Read: json.go, diff.go.
package govalue
