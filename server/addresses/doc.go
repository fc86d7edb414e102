// Package addresses keeps the addresses and ports of services, and those of the servers themselves.
//
// An IPAddress object says that an address is taken, and the record of node ports says so of ports.
// A repair compares both with the services there are. A record is what a server writes about itself
// beside the resources; it goes with a lease that the server renews. Peers are the other servers on
// the store.
//
// Guarantees: a server is not ready before each repair has passed once. What a crash has left is
// taken back in time, and what a write is about to use is not: a port is released only after it was
// found leaked several times in a row, an address only after a grace. While a service cannot be
// read, nothing is released that it may have. The endpoints of the service "kubernetes" name the
// servers that live: a server leaves them when it stops, and its lease ends if it was killed. A
// service is found by its endpoints as they are now, with what was written through this server.
//
// Addresses are made when the resources and the client are there. Self, Peers and the allocator of
// node ports are made before all that: the declarations of resources need them. Self holds a
// promise, the address that the server listens at. The host adds the hooks, and stops the loops.
//
// Not here: how addresses and ports are given to services (registry/core, registry/ports), the loop
// of the service "kubernetes" (server/loops/services).
//
// Read: addresses.go, config.go, self.go; repair.go, nodeports.go; kubernetes.go, records.go;
// lease.go, peers.go; then resolver.go and endpoints.go, which stand alone.
package addresses
