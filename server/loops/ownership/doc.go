// Package ownership has the two loops that delete what is left behind: GarbageCollector deletes
// objects whose owners are gone, and Namespace empties namespaces that are being deleted. They are
// Kubernetes' garbage-collector-controller and namespace-controller, but they belong to the API
// here: they run beside a kube-controller-manager too.
//
// Words. An owner is an object that an ownerReference names; the object with the reference is its
// dependent. An owner waits if it is being deleted and has one of the two finalizers of the
// collector: foregroundDeletion, until its dependents are gone, or orphan, until its dependents no
// longer name it. A node is a place in the graph of owners, an edge is one reference. Remote
// means: on a server behind this one. To park is to put off until resources come or go.
//
// Laws. An object is deleted only if each of its owners is known to be gone or to wait: a read has
// said so, or the graph has seen its deletion, and a UID never comes back. Each delete and patch
// names the revision that was looked at; a second delete may name only the UID, if the owners are
// the same still. A namespace keeps its finalizer while the store or a server
// behind this one has an object in it, or cannot say whether it has. Nothing is remembered outside
// of the store: after a crash both loops go on.
//
// The server makes one of each loop per run and calls Run once. It provides what only a store can
// tell: Stream, Resources, Removals and the functions of Namespace (server/holdings). Writes go
// through a client, so that they pass admission.
//
// Not here: what a DELETE does with its propagationPolicy (registry), and which servers are behind
// this one (server/aggregator).
//
// Read: namespace.go, waiting.go, namespaceelsewhere.go; garbage.go, garbageitem.go, ownergraph.go,
// garbageknown.go, garbageremote.go.
package ownership
