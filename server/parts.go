package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/aggregator"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/identity"
)

// A server is made of parts, in the order of serverParts. A part is made after all parts that it
// needs, and is then complete: nobody assigns to it afterwards. A part that opens or starts
// something pushes its end on a stack. If a part fails, the stack ends all parts before it, the
// last first. Close of a complete server does the same.
//
// Three values are needed before they exist. Each has a type that says so, a promise:
// access.Promise (authorization), addresses.Self (the address at which the server listens),
// generic.Progress (the revision up to which definitions are served).

// part is one step of making a server. Its make reads fields of the assembly that earlier parts
// have set, and sets other fields.
type part struct {
	name string
	make func(a *assembly) error
}

// openingParts start goroutines that open the store and make keys and certificates. These
// goroutines run while the declared parts are made; awaitOpening waits for them.
var openingParts = []part{
	{"metrics", (*assembly).makeMetrics},
	{"auditing", (*assembly).makeAuditing},
	{"store and identity, begun", (*assembly).beginOpening},
}

// pluginsPart is the name of the part that makes the plugins. A Validator has another in its place.
const pluginsPart = "admission plugins"

// declaredParts make what the server will serve. They read nothing from the store, which may not be
// open yet.
var declaredParts = []part{
	{"types", (*assembly).makeTypes},
	{pluginsPart, (*assembly).makePlugins},
	{"resources", (*assembly).makeResources},
	{"definitions", (*assembly).makeDefinitions},
	{"core and aggregator servers", (*assembly).makeServers},
	{"life", (*assembly).makeLife},
	{"groups", (*assembly).installGroups},
}

// frontParts make what a request passes between its connection and a resource.
var frontParts = []part{
	{"store and identity, done", (*assembly).awaitOpening},
	{"authenticators", (*assembly).makeAuthenticators},
	{"authorizers", (*assembly).makeAuthorizers},
	{"aggregator", (*assembly).makeAggregator},
	{"OpenAPI", (*assembly).makeOpenAPI},
	{"filters", (*assembly).makeHandler},
	{"client", (*assembly).makeClient},
	{"listeners", (*assembly).makeListeners},
	{"addresses", (*assembly).makeAddresses},
	{"server", (*assembly).makeServer},
}

// besideParts make the work that runs beside requests. Each adds the hooks with which its work
// begins.
var besideParts = []part{
	{"servers behind", (*assembly).followServices},
	{"custom resources", (*assembly).followDefinitions},
	{"node graph", (*assembly).followNodes},
	{"upkeep", (*assembly).makeUpkeep},
	{"readiness", (*assembly).addReads},
	{"service addresses", (*assembly).addServiceAddresses},
	{"bootstrap", (*assembly).makeBootstrap},
	{"controllers", (*assembly).addControllers},
	{"server addresses", (*assembly).addServerAddresses},
	{"registration", (*assembly).makeRegistration},
	{"issuer", (*assembly).serveIssuer},
	{"trust", (*assembly).publishTrust},
	{"inspection", (*assembly).installInspection},
	{"setup", (*assembly).setUp},
}

// serverParts are all parts of a server, in the order in which they are made.
func serverParts() []part { return slices.Concat(openingParts, declaredParts, frontParts, besideParts) }

// assembly is a server while it is made: the configuration, and the fields that the parts so far
// have set. It belongs to the goroutine that makes the server.
type assembly struct {
	ctx context.Context // bounds the making, not the server
	completed
	ends ends

	ground
	declaration
	front
	server *Server
}

// ground is what the opening parts set, and all others use.
type ground struct {
	registry   *prometheus.Registry
	metrics    *metrics
	auditing   *filters.Auditing // nil: nothing is recorded
	table      *generic.Table
	self       *addresses.Self
	encryption *backing.Encryption // nil: nothing is encrypted
	store      *backing.Store
	opening    *opening
}

// front is what the front parts set.
type front struct {
	identity       *identity.Identity
	authenticator  request.Authenticator
	tokens         request.TokenAuthenticator
	authorizers    *access.Authorizers
	gate           filters.Gate
	behind         *aggregator.Aggregator
	handler        http.Handler
	client         *client.Client
	listeners      *connections.Listeners
	givenAddresses *addresses.Addresses
}

// assemble makes parts in their order. If a part fails assemble ends the parts before it. It then
// leaves nothing open, also not the Store of the configuration.
func assemble(ctx context.Context, c completed, parts []part) (*assembly, error) {
	a := &assembly{ctx: ctx, completed: c}
	a.ends.push(func() error {
		if a.store == nil && c.Storage.Store != nil {
			return c.Storage.Store.Close()
		}
		return nil
	})
	for _, p := range parts {
		if err := p.make(a); err != nil {
			return nil, errors.Join(err, a.ends.run())
		}
	}
	return a, nil
}

// ends is a stack of functions, each of which undoes a part.
type ends struct{ list []func() error }

// push adds an end. run calls each end once, because run empties the stack.
func (e *ends) push(end func() error) { e.list = append(e.list, end) }

// run calls all ends, the last first, and joins their errors.
func (e *ends) run() error {
	var errs []error
	for _, end := range slices.Backward(e.list) {
		errs = append(errs, end())
	}
	e.list = nil
	return errors.Join(errs...)
}
