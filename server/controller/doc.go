// Package controller is the engine for loops that bring objects to where they should be.
//
// A loop watches a resource and works on each object of it, again and again: it is told names,
// never changes, and works on what it reads then. It is a client like any other: its requests pass
// the same filters and the same admission.
//
// A Loop has a few workers, and a Queue that keeps what is due now and later in one heap. It
// guarantees that a name is worked on by one worker at a time, again after each change and each
// failure, and that Run returns only when all that it started has ended. What several loops need to
// know of the objects of a resource is in an Informer that they share. Of several servers with one
// store an Election has one run a loop, and Yield has none do so while somebody else does the same.
// A Recorder writes Events. Not here: the loops that come with the server (server/loops), and which
// of them run, with which client (server).
//
// Read: loop.go, queue.go, informer.go; election.go, yield.go.
package controller
