// Package check has checks that the validation of many kinds shares: of a required value, an
// enumeration, a name, a port, a path, an immutable field.
//
// Each check takes the path of a value and returns one error for each fault, and nil if there is
// none. Texts, types and order of the errors are those of kube-apiserver, because clients see them.
// A value that may be unset is a pointer. Needed applies a check to a value that must not be empty,
// Optional to one that may be. Checks are pure, so they may be called concurrently.
//
// The validation of kinds calls the checks: registry/core, registry/apps and the other packages of
// groups, registry/podspec and registry/extensions.
//
// Not here: which names are valid (scheme/names), the checks that the tags of types declare
// (scheme/typeinfo), what only pods need (registry/podspec).
//
// Read: check.go; each other file is about one sort of value.
package check
