// Package filters holds what every request passes before its handler: audit id, log, metrics,
// timeouts, authentication, impersonation, concurrency limits, authorization, compression.
//
// Words: a Filter is a function from handler to handler. A Step is a Filter with its name and the
// reason for its place. An exchange is everything that one request allocates. A Gate decides which
// requests may run, and a Seat is what a request holds while it runs. A stranger is a client
// without an identity, or one whose identity is not known yet. A refusal is a response by a filter
// instead of the handler.
//
// Laws: there is one filter to a file, made by a constructor that owns its state. Config.Steps in
// chain.go is the only list of filters, in the order of a request. All state of a request is in its
// exchange, which Begin makes and the context carries; so a request costs one context value, and
// Begin must be outermost. A filter never writes the body of an error itself but hands an error to
// its ErrorWriter. Filters are safe for concurrent use and start no goroutine.
//
// Package server makes the Config and the chain. Packages authn and authz decide who a caller is
// and what the caller may do; the filters here only ask them. Not here: routing (router), the order
// of a shutdown, and TLS (server).
//
// Read chain.go, begin.go, response.go and gate.go; then any filter.
package filters
