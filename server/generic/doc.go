// Package generic is the server that the three links of the delegation chain share: resources and
// paths that come and go while it serves, behind one director.
//
// The Table is the one list of the resources that exist; what is not in it does not exist.
// Resources changes it, and with it the routes, discovery and OpenAPI.
//
// Guarantees: who sees a resource in discovery can use it. Replace has no moment without the
// resource: a request sees the old declaration or the new one. Remove waits for the requests inside
// before the cache is closed and what was counted is forgotten. A state of the Table is immutable;
// readers take no lock. The keys of two resources never overlap.
//
// Locks, in this order: that of the Table, then Server.mu, then those of the router, which call
// nothing of this package.
//
// Not here: which groups are served, and what they are (server, registry).
//
// Read: server.go, group.go, routes.go, table.go, resources.go, records.go, storedversions.go; then
// host.go, progress.go and work.go, which parts of a server use, handmade.go, metrics.go,
// collector.go.
package generic
