// Package generic is what the three servers of the delegation chain have in common
// (GenericAPIServer): a Server, which passes each request to the handler of its resource or path,
// and the list of all resources. Resources and paths can be added and removed while a Server
// serves.
//
// Words: a link is one Server of the delegation chain. A Table lists the resources that exist; a
// resource that is not in it does not exist. An entry is a resource with its store. An offer is a
// resource under one of its names: the same objects may be served in several groups, as events are.
// The first name of a resource is the one that it was declared with. A bare resource has no store:
// it is only created (an action) or only read (observed). A part is a package that the server is
// made of; a Host is what a part needs of the server around it.
//
// Laws: a client that sees a resource in discovery can use it. During Replace a request finds the
// old declaration or the new one, never neither. After Remove, the cache of the resource is closed
// and its metrics are deleted only when its running requests have ended, or Needs.Longest has
// passed. The objects of a removed resource stay in the store. A State of the Table is immutable,
// so readers take no lock. The key prefixes of two resources that are offered never overlap.
//
// Locks, in this order: the change lock of the Table, Server.mu, the locks of the router. The
// router calls nothing of this package while it holds one of its own.
//
// Use: package server makes one Table, one Resources, and the Servers of the aggregator and of the
// core; server/definitions makes the Server of custom resources. Parts get the Resources as their
// Host. All methods may be called at once.
//
// Not here: which groups are served (server), and the operations on their objects (registry).
//
// Read: server.go, group.go, routes.go, table.go, resources.go, records.go, storedversions.go,
// equivalents.go; then host.go, progress.go and work.go, which parts of a server use, acceptor.go,
// metrics.go, collector.go.
package generic
