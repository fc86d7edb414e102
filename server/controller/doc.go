// Package controller holds the controllers that make an API feel alive without a controller manager.
//
// A controller watches a resource and brings each object to where it should be, again and again: it is told names, never
// changes, and works on what it reads then. It runs in the server's process and is a client like any other: its requests
// pass the same filters and the same admission, under a name of their own.
//
// Each controller is a struct with its client and a Run that returns when its context ends and all it started has
// ended. A Loop does the rest: it has a few workers, and keeps what is due now and later in one heap. Not here: which
// controllers run, and with which client (server).
//
// Read: loop.go, queue.go, then namespace.go as the pattern for others.
package controller
