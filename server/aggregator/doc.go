// Package aggregator is the first link of the delegation chain. It serves APIServices. If an
// APIService names a service, the aggregator hands requests for its group version to the server
// behind that service; all other requests go to the next link.
//
// Words: a server behind is another API server that an APIService names. A remote is one group
// version that a server behind serves. A route is the way to a server behind: target, seats and
// connections. Successive remotes of one APIService share a route while the target stays the same.
// A neighbour is a server behind as it describes itself: its resources and its OpenAPI documents.
// To hand a request on is to relay it to a server behind.
//
// Guarantees:
//   - A request that is not handed on costs one load of a pointer, and a look into a map if there
//     are remotes. It allocates nothing.
//   - If a server behind and this server both serve a group version, also one of custom resources,
//     the server behind gets its requests.
//   - A server behind learns the user of a request from this server alone, and receives no
//     credential that is valid here.
//   - Requests for the group version of an APIService have seats of their own. So a server behind
//     that hangs takes no seats from requests to this server or for another APIService.
//   - The size of a server's description of itself, and the time that the server may take for it,
//     are bounded. If a server does not answer, discovery shows its group versions as stale.
//   - While no APIService names a service, the only goroutine is the one that follows APIServices.
//
// Ownership: the loop that Start begins follows APIServices. It alone changes the list of remotes,
// and publishes an immutable table of them, which requests read without a lock. Each neighbour has
// a goroutine, which ends with the last APIService that names the neighbour. The server calls Start
// and Hooks once; all other exported methods may be called at once. The mutexes of neighbours and
// availability are never held together. neighbours holds its mutex while it calls discovery, which
// takes a mutex of its own.
//
// Not here: who may send a request (filters), where a service is (callout.Resolver), how bytes
// stream (callout.Relay), the loops that write APIServices (server/loops/apiservices).
//
// Read: aggregator.go, follow.go, remote.go, handover.go; availability.go; neighbours.go,
// describe.go, swaggers.go; registration.go.
package aggregator
