// Package flows keeps what requests are to be sorted by: the flow schemas and priority levels that
// every cluster has, and what the status of each flow schema says. It does what two loops of
// kube-apiserver do, and owns the fields that it writes by the same names, so that both may work on
// one store.
//
// Keeper makes the objects when the server starts, and looks after them each minute. Dangling says
// of each schema whether its level exists, as soon as that changes.
//
// Both are clients of the server and end with their contexts. Every server runs its own: they write
// nothing where all is as it should be.
//
// Not here: what the objects are (registry/flowcontrol), and whatever sorts requests by them.
//
// Read: keeper.go, dangling.go.
package flows
