// Package controller is the engine for controllers: loops that bring the objects of a resource to
// the state in which they should be.
//
// Words: a Source tells a loop the names of the objects to work on. A Loop takes the names from its
// Queue and calls Reconcile for each. An Informer keeps a view of each object of a resource: the
// few fields that controllers need. An Election chooses one of several servers to run a loop. Yield
// stops a loop while another program does the same work. A Recorder writes Events.
//
// Laws: a Source tells a loop which object has changed, but not how; the loop reads the object and
// works on what it reads. A loop is a client like any other: its requests pass the same filters and
// the same admission. One worker at a time works on a name. A name is worked on again after each
// change and after each failure. Run of a Loop, an Election or a Yield returns only when all
// goroutines that it started have ended.
//
// Use: package server runs each loop in a goroutine and ends it by its context, which has the
// Queues that count the work of the loops. Programs outside of the server may do the same with a
// client of their own.
//
// Not here: the loops that come with the server (server/loops), and which of them run with which
// client (server).
//
// Read: loop.go, queue.go, metrics.go, informer.go; election.go, yield.go; events.go, errors.go.
package controller
