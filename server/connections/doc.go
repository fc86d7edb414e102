// Package connections opens the ports of a server, accepts connections and bounds the resources
// that clients hold, above all before they are authenticated.
//
// Words: a stranger is a client that has not been authenticated yet, or that is anonymous; a
// connection is a stranger's until an authenticated request has arrived on it. A stream is an
// HTTP/2 request, or an HTTP/1.1 answer without an end (a watch), which hijack.go takes over from
// net/http. A burst is many arrivals whose memory is given back to the system when they have
// settled.
//
// Laws: the number of open connections has a bound. At the bound the server closes an idle
// connection for a new one, and a stranger's before any other; a connection in use is never closed.
// All strangers share one budget of HTTP/2 streams; a stream that is reset counts until its handler
// has returned. A waiting watch over HTTP/1.1 holds no buffer. The size of headers, the time to
// send them, and idle time are bounded. Close returns when every connection has ended, also those
// that handlers have hijacked.
//
// Use: New, Open, Serve and Close, in that order; Serve and Close once. MarkAuthenticated wraps the
// authenticator of the server, so that connections learn about their clients.
//
// Not here: limits of requests and bodies (filters), certificates (server/identity).
//
// Read: listeners.go, conns.go, streams.go, hijack.go, burst.go.
package connections
