// Package ownership has the two loops that delete what is left behind: GarbageCollector deletes
// objects whose owners are gone, and Namespace empties namespaces that are being deleted. They are
// Kubernetes' garbage-collector-controller and namespace-controller, but they belong to the API
// here: they run beside a kube-controller-manager too.
//
// Words. An owner is an object that an ownerReference names; the object with the reference is its
// dependent. An owner waits if it is being deleted and has one of the two finalizers of the
// collector. With foregroundDeletion it waits until no dependent blocks it (blockOwnerDeletion);
// with orphan it waits until no dependent names it. A dependent holds an owner that waits for it.
// The graph of owners is in package ownergraph; a node there is the place of one object (it is no
// machine here). Elsewhere means: on a server behind this one.
//
// Laws. The collector deletes an object only if it knows of each owner that the owner is gone or
// waits. It knows that an owner waits from a read. It knows that an owner is gone from a read or
// from the graph, which has seen the deletion; a UID never comes back. Each delete and patch names
// the revision that was looked at. If a delete fails because the object has changed, but its owners
// are the same, the second try names only the UID. A namespace keeps its finalizer while the store
// or a server behind this one has an object in it, or cannot say whether it has. Nothing is
// remembered outside of the store: after a crash both loops go on.
//
// The server makes one of each loop per run and calls Run once. It provides what only a store can
// tell: Stream, Resources, Removals and the functions of Namespace (server/holdings). Writes go
// through a client, so that they pass admission.
//
// Not here: the graph of owners (server/loops/ownergraph), what a DELETE does with its
// propagationPolicy (registry), and which servers are behind this one (server/aggregator).
//
// Read: namespace.go, waiting.go, namespaceremote.go; garbage.go, garbageitem.go, garbageknown.go,
// garbageremote.go.
package ownership
