// Package scheme knows the types of an API: which Go type stands for which kind in which version,
// and everything that follows from that.
//
// Words. A kind in a version (GVK) has a Go type. Each kind of a group has one hub type: the type
// that the server works with, registered under the version "__internal". It is normally the type
// of the preferred version; then converting to it is free. The other versions are spokes.
// Conversion runs spoke, hub, spoke.
//
// A Scheme is built in two steps. First packages register types and functions, in any order;
// mistakes are collected, not returned. Then Complete compiles descriptors, defaults and
// conversions and reports all mistakes at once. After that the Scheme does not change and may be
// used by all goroutines; before, it belongs to one.
//
// Kinds that a program brings along itself, and whose mistakes its tests find, can be registered
// with AddLazy. They are compiled when they are first used: a server of many kinds starts at
// once, and a kind that nobody asks for takes no memory.
//
// Laws:
//   - Every kind converts to its hub and back; what cannot be derived and has no function fails
//     Complete.
//   - A converted object owns its memory, unless no conversion was needed: then it is the object
//     itself.
//   - Copy, Default and Check need no function for a type: they follow from its tags (package
//     typeinfo).
//
// # How an API grows
//
// A program that is changed finds the objects that it stored before. These changes need no
// migration:
//
//   - A field is added, with or without a default. Declare it, with the same default, in every
//     version that is to show it.
//   - A default is added to a field. An object that was stored without a value has the default
//     from then on. Such a default may be on a field that check:"immutable" protects: nothing
//     that is read lacks it, so completing an object is no change of it.
//   - A field is renamed or moved. A version's fields keep their names, so this takes a new
//     version, and AddConversion between the versions and the hub. A function that begins with
//     ConvertFields names the changed fields only.
//   - A version is added. Of several versions the preferred one is stored (SetVersionPriority,
//     registry.Resource.StorageVersion).
//   - The storage version is changed. Objects in the other versions stay readable.
//   - A version is no longer served. Register it by AddStored instead of AddKnownTypes, with
//     its type, its defaults and its conversion to the hub, for as long as something may be
//     stored in it. A conversion from the hub is needed only if StorageVersion names it.
//
// These changes lose data or make objects unreadable: another type or protobuf number for a field
// of a version; a field that is taken out of a version in which it is stored; a check that stored
// objects do not pass (they are read, and their next update is refused). An object in a version
// that is not registered at all is unreadable: reading it fails with an error that names the
// version, and other objects are served.
//
// An object that is read is completed by the defaults of the version that it is stored in, then
// converted to the hub and to the version that the client asked for. The defaults of those versions
// do not apply to it. An object that is written is completed by the defaults of the version that
// the client wrote in and, after all else, by those of the storage version. So a default that only
// one version declares reaches the objects that are written or stored in that version. A hub that
// is no version completes nothing: Complete refuses defaults of structs that no version has.
//
// Reading stores nothing. The next write of an object stores all of it in the storage version, even
// a write that changes nothing else. The command "coracle migrate" writes all objects of a resource
// in that way, through any server of this library: run it before a version is forgotten. Package
// schemetest finds the fields that a conversion loses. cmd/wardle keeps a folder that earlier
// builds of it wrote, and a test that opens it; docs/growing.md goes through these changes with
// examples.
//
// Not here: bytes (scheme/codec), schemas (scheme/schema), what makes a change legal (registry),
// random objects for tests of all this (scheme/sample), tests of one's own conversions
// (scheme/schemetest).
//
// Read: scheme.go (registration), complete.go, lookup.go, convert.go with derive.go, object.go,
// unstructured.go. Then meta (the types all APIs share), typeinfo (struct tags), jsontext (JSON
// and trees), codec, patch.
package scheme
