// Package meta holds what all API objects share: names of kinds and resources, object and list metadata, the options of
// requests, Status and its errors, selectors, and values with a JSON form of their own such as Time and Quantity.
//
// Words: a kind is a type of object, a resource the plural under which paths serve it; a group-version is one written
// form of a group's kinds; an apiVersion is its spelling.
//
// Laws:
//   - Custom values (Time, MicroTime, Duration, Quantity, IntOrString, RawExtension, FieldsV1) are immutable: copying the
//     struct is a deep copy. They read and write JSON and, with AppendProto and ParseProto, their protobuf message,
//     without its tag and length.
//   - What they write they read back as the same value. What they cannot read is an error, never a panic.
//   - Messages are those of Kubernetes, word for word; clients match on them.
//   - Matching a selector does not allocate.
//
// Everything here may be used by many goroutines as long as nobody changes it.
//
// Not here: struct tags and what follows from them (typeinfo), codecs (codec), rules for names (names), and which rules
// apply to which kind (registry).
//
// Read: gvk.go, object.go, objectmeta.go; then status.go and errors.go, selector.go and labelindex.go, quantity.go, validate.go.
package meta
