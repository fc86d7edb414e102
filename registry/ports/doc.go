// Package ports allocates the node ports of services: each port of a range to one service at a
// time, among all servers of a store.
//
// The taken ports are one record in the store, a RangeAllocation with a bit for each port of the
// range, as kube-apiserver keeps it. Every change is a compare-and-swap of the record, so
// kube-apiserver and this server may share it. The record does not say which service has a port:
// the service itself does.
//
// Words. A span is a range of ports. A set says which ports of a span are taken. The record is the
// set as it is stored. To release a port is to make it free.
//
// The law: a port is taken before the service with it is stored, and released after the service
// without it is stored. A server that is killed in between leaves a port that is taken but unused,
// never a port that two services have. The repair in server/addresses compares the record with the
// services and frees such ports (Load, Replace).
//
// registry/core changes the record when services are written (Change, Release). server/addresses
// opens the allocator at the start of a server.
//
// Not here: when a service needs ports (registry/core), and the repair (server/addresses).
//
// Read: span.go, set.go, allocator.go.
package ports
