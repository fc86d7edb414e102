// Package ownership deletes what has lost its owners, and what is in namespaces that are being
// deleted.
//
// It guarantees that an object is deleted only after a read has confirmed that each of its owners
// is gone, and that a namespace keeps its finalizer while the store, or a server behind this one,
// has an object in it or cannot say whether it has. What it needs of the store, its user provides:
// Stream, Resources and Removals.
//
// Read: namespace.go; garbage.go, ownergraph.go.
package ownership
