// Package connections opens the ports of a server, accepts its clients and bounds what they may
// hold before anybody knows them.
//
// Guarantees: the number of open connections has a bound; at the bound an idle connection, first
// one of a stranger, makes room for a new one, and a connection in use is never closed. Streams of
// HTTP/2 that strangers begin share one budget; a stream that is reset counts until its handler has
// ended. A watch by HTTP/1.1 that waits holds no buffer. Headers, their time and idle time are
// bounded. Memory that a crowd of clients needed is given back when they have settled. Close
// returns when every connection has ended, also those that handlers have taken over.
//
// Not here: what requests may do (filters), certificates.
//
// Read: listeners.go, conns.go, streams.go, apart.go, crowd.go.
package connections
