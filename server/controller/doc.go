// Package controller is the engine for controllers: loops that bring the objects of a resource to
// the state in which they should be.
//
// Words: a Source tells a loop the names of the objects to work on. A Loop takes the names from its
// Queue and calls Reconcile for each. An Informer keeps a view of each object of a resource: the
// few fields that controllers need. An Election chooses one of several servers to run a loop. Yield
// stops a loop while another program does the same work. A Recorder writes Events.
//
// Laws: a loop is told names, never changes, and works on the state that it reads then. It is a
// client like any other: its requests pass the same filters and the same admission. One worker at a
// time works on a name. A name is worked on again after each change and after each failure. Run of
// a Loop, an Election or a Yield returns only when all that it started has ended.
//
// Use: package server runs the loops, each in a goroutine, and ends them by their context. Programs
// outside of the server may do the same with a client of their own.
//
// Not here: the loops that come with the server (server/loops), and which of them run with which
// client (server).
//
// Read: loop.go, queue.go, informer.go; election.go, yield.go; events.go, errors.go.
package controller
