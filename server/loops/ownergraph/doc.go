// Package ownergraph is the graph of owners and dependents from which the garbage collector knows
// which objects are worth a look.
//
// Words. An owner is an object that an ownerReference names; the object with the reference is its
// dependent. An owner waits if it is being deleted and has one of the two finalizers of the
// collector (Wait). A dependent holds an owner that waits for it. A node is the place of one object
// (it is no machine here), and an edge is one reference. To park a node is to put its object off
// until resources come or go. A worker is a goroutine of the collector that takes nodes from the
// queue.
//
// Laws:
//   - The graph decides nothing. It queues a node whenever a change may have given its object
//     something to do.
//   - An object that has no owners and no dependents takes no memory.
//   - The graph says that an owner is gone only after it has seen that. A UID never comes back.
//
// One goroutine follows the store. It calls Apply with each object that exists, then Synced once,
// and then Apply with each change, in order. All other methods may be called at once.
//
// Not here: reads and writes of objects, and the decisions about them (server/loops/ownership).
//
// Read: mapping.go, graph.go, remote.go, answers.go.
package ownergraph
