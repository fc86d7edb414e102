// Package filters holds what every request passes before its handler: identity, limits, rights, and what is logged
// and counted about it.
//
// A filter is a function from handler to handler, one to a file, made by a constructor that owns its state. The list of
// them, in request order and with the reason for each place, is Config.Steps in chain.go.
//
// What filters learn about a request stands in one struct, made by Begin and found through the context: the
// request.Info that everybody reads, the context itself, and the writer that counts what is sent. So a request costs
// one context value, and Begin must stand outermost.
//
// A filter never writes the body of an error. It hands a meta.StatusError to the ErrorWriter it was given.
//
// Filters are safe for concurrent use and start no goroutine. Who a caller is and what they may do is decided in
// packages authn and authz; this package only asks. Not here: routing (router), shutdown order and TLS (server).
//
// Read: chain.go, begin.go, response.go, gate.go; then any filter.
package filters
