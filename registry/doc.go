// Package registry is the generic store of API objects: what every resource has in common.
//
// A Resource declares a kind's resource: names, strategy, selectable fields, columns. A Store made from it serves the
// verbs (get, list, watch, create, update, delete, deletecollection) over a cache.Resource. It satisfies the verb
// interfaces of package router without knowing them.
//
// Guarantees:
//   - Every write path goes through the same admission with the true old object.
//   - Update rules are pure functions of (request, new, old); the Store does the I/O around them.
//   - Reads move encoded bytes. A write decodes once and encodes once.
//   - Every error is a *meta.StatusError with the words of kube-apiserver.
//
// All methods of Store may be called at once. Not here: media types and HTTP (router), who may do it (filters), the
// rules of single kinds (core/, coordination/).
//
// Read: strategy.go, typed.go, store.go, keys.go, reader.go, create.go, update.go, delete.go, list.go, errors.go; then
// admission/ and core/.
package registry
