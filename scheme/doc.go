// Package scheme knows the types of an API: which Go type stands for which kind in which version, and everything that
// follows from that.
//
// Words. A kind in a version (GVK) has a Go type. Each kind of a group has one hub type: the type that the server
// works with, registered under the version "__internal". It is normally the type of the preferred version; then
// converting to it is free. The other versions are spokes. Conversion runs spoke, hub, spoke.
//
// A Scheme is built in two steps. First packages register types and functions, in any order; mistakes are collected,
// not returned. Then Complete compiles descriptors, defaults and conversions and reports all mistakes at once. After
// that the Scheme does not change and may be used by all goroutines; before, it belongs to one.
//
// Kinds that a program brings along itself, and whose mistakes its tests find, can be registered with AddLazy. They are compiled
// when they are first used: a server of many kinds starts at once, and a kind that nobody asks for takes no memory.
//
// Laws:
//   - Every kind converts to its hub and back; what cannot be derived and has no function fails Complete.
//   - A converted object owns its memory, unless no conversion was needed: then it is the object itself.
//   - Copy, Default and Check need no function for a type: they follow from its tags (package typeinfo).
//
// Not here: bytes (scheme/codec), schemas (scheme/schema), what makes a change legal (registry), random objects for
// tests of all this (scheme/sample), tests of one's own conversions (scheme/schemetest).
//
// Read: scheme.go (registration), complete.go, lookup.go, convert.go with derive.go, object.go, unstructured.go. Then
// meta (the types all APIs share), typeinfo (struct tags), jsontext (JSON and trees), codec, patch.
package scheme
