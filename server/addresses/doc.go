// Package addresses keeps the allocation of cluster IPs and node ports of Services right, and
// publishes the addresses of the servers themselves.
//
// Words: an IPAddress object says that a cluster IP is allocated, and the record of node ports (a
// RangeAllocation) says so of ports. A repair compares them with the existing Services. The record
// of a server is an Endpoints object that it writes about itself, at a key of no resource; it ends
// with a lease in the store that the server renews. Peers are the other servers on the store.
//
// Laws: a server is not ready before each repair has passed once. A repair releases what a crash
// has leaked, and nothing that a running write is about to use: a port only after several passes in
// a row have found it leaked, an address only after a grace. While a Service cannot be read, no
// address or port is released that it may have. The endpoints of the Service "kubernetes" name the
// live servers: a server removes itself when it stops, and its lease ends if it was killed. The
// resolver sees all writes that went through this server.
//
// Use: New is called when the resources and the client have been made. Self, Peers and the
// allocator of node ports are made earlier, because declarations of resources need them. Self holds
// a promise: the address at which the server will listen. The server adds the hooks, and stops the
// loops.
//
// Not here: how Services get addresses and ports (registry/core, registry/ports), the loop of the
// Service "kubernetes" (server/loops/services).
//
// Read: addresses.go, config.go, self.go; repair.go, nodeports.go; kubernetes.go, records.go;
// lease.go, peers.go; then resolver.go and endpoints.go, which stand alone.
package addresses
