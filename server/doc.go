// Package server wires the rooms into an API server and gives it a life: configuration, listeners,
// start, readiness and shutdown.
//
//	s, err := server.New(ctx, server.Config{})
//	err = s.Run(ctx)
//
// A Server is a chain of three generic.Servers in front of one store: aggregator, core and
// extensions. Each has a director with a REST router and a prefix mux of its own, and hands what it
// does not know to the next; all show one picture in discovery.
//
// Resources come and go while the server runs: Server.Install, Replace and Remove.
//
// Guarantees: the zero Config works. New completes and validates the entire configuration before
// anything reads it. It makes the parts in the order of one list (parts.go), each when all that it
// needs is there, and whichever of them fails, what was made before it is ended. It starts nothing
// that Run or Close does not end. Run returns once everything that the server started has ended, in
// this order: readiness fails, controllers stop, watches end and requests finish, listeners close,
// the cache and then the store close.
//
// Not here: what the API does (registry, router), the binary's flags (cmd).
//
// Read: config.go, complete.go, server.go, parts.go, then declare.go, front.go and beside.go, which
// make the parts; life.go, hooks.go, listen.go; then generic/ and the package of each part.
package server
