// Package server makes an API server out of the packages scheme, storage, router, filters and
// registry, and runs that server: it completes the configuration, makes the parts, listens, becomes
// ready and shuts down.
//
//	s, err := server.New(ctx, server.Config{})
//	err = s.Run(ctx)
//
// Words: a part is one step of making a server; an end is a function that undoes a part; a hook is
// work that begins when the server listens (post-start) or that is done before the server stops
// (pre-shutdown). The delegation chain is three generic.Servers in a row: aggregator, core and
// extensions. Each has a REST router and a mux of paths of its own, and hands the requests that it
// does not know to the next. All three show one picture in discovery.
//
// Resources can come and go while the server runs: see Server.Install, Replace and Remove.
//
// Laws: the zero Config works. New completes and validates the whole configuration before anything
// reads it. New makes the parts in the order of one list (parts.go), so that a part finds all that
// it needs. If a part fails, New ends all parts before it. Run or Close ends everything that New
// has started. Run returns when everything that the server started has ended, in this order:
// readiness fails, controllers stop, watches end and requests finish, listeners close, the caches
// and then the stores close.
//
// Use: one goroutine calls New and then Run, once. A program adds its hooks and paths between the
// two calls, or in Config.Setup. All other methods of a Server are for any goroutine.
//
// Not here: what the API does (registry, router), the binary's flags (cmd).
//
// Read: config.go, complete.go, server.go, parts.go, then declare.go, front.go and beside.go, which
// make the parts; life.go, hooks.go, listen.go; then generic/ and the package of each part.
package server
