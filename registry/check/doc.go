// Package check holds the checks that the rules of many kinds are made of: a value that is
// required, one of a few, a name, a port, a path, unchanged.
//
// Each takes the path of a value, returns an error for everything that is wrong with it, in the
// words of kube-apiserver, and nil for nothing. What may be unset is a pointer, or goes through
// Optional. Needed and Optional apply a check to a value that must not, or may, be empty.
//
// Not here: which names are valid (scheme/names), the checks that the tags of types declare
// (scheme/typeinfo), what only pods need (registry/podspec).
package check
