// Package meta holds what all API objects share: names of kinds and resources, object and list
// metadata, the options of requests, Status and its errors, selectors, and values with their own
// JSON form, such as Time and Quantity.
//
// Words: a kind is a type of object; a resource is the plural under which paths serve it; a group
// version is one written form of the kinds of a group; an apiVersion is how a group version is
// spelled.
//
// Laws:
//   - Custom values (Time, MicroTime, Duration, Quantity, IntOrString, RawExtension, FieldsV1)
//     are immutable, so copying the struct is a deep copy. They encode themselves as JSON and,
//     by AppendProto and ParseProto, as protobuf messages without tag and length.
//   - A custom value that is written and read again is the same value. Malformed input is an
//     error, never a panic.
//   - Messages are those of Kubernetes word for word, because clients match on them.
//   - Matching a selector does not allocate.
//
// Everything here may be read by many goroutines at once.
//
// The comments of API types in this package are published: OpenAPI shows them as descriptions
// (openapi.go).
//
// Not here: struct tags and what follows from them (typeinfo), codecs (codec), rules for names
// (names), the rules of a particular kind (registry).
//
// Read: gvk.go, object.go, objectmeta.go; then status.go and errors.go, selector.go and
// labelindex.go, quantity.go, validate.go.
package meta
