// Package addresses keeps the allocation of cluster IPs and node ports of Services right, and
// publishes the addresses of the servers themselves.
//
// Words: an IPAddress object says that a cluster IP is allocated; the record of node ports (a
// RangeAllocation) says which node ports are allocated. A repair compares both with the existing
// Services. The record of a server is an Endpoints object that the server writes about itself, at a
// key that belongs to no resource. It is bound to a lease of the store: the store deletes the
// record when the server no longer renews the lease. The Lease of a server is another thing, an
// object of the API. Peers are the other servers on the store.
//
// Laws: a server is not ready before each repair has passed once. A repair releases what a crash
// has leaked, and nothing that a running write is about to use: a port only after several passes in
// a row have found it leaked, an address only after a grace. While a Service cannot be read, a
// repair releases no address and no port that this Service may have. The endpoints of the Service
// "kubernetes" name the live servers: a server removes itself when it stops; if it was killed its
// record ends with the lease. The resolver sees all writes that went through this server.
//
// Use: package server makes Self, Peers and the allocator of node ports first, because declarations
// of resources need them. It calls New when it has made the resources and the client, adds the
// hooks, and stops the loops. Self holds a promise: the address at which the server will listen.
//
// Not here: how Services get addresses and ports (registry/core, registry/ports), the loop of the
// Service "kubernetes" (server/loops/services).
//
// Read: addresses.go, config.go, self.go; repair.go, nodeports.go; kubernetes.go, records.go;
// lease.go, peers.go; then resolver.go and endpoints.go, which stand alone.
package addresses
