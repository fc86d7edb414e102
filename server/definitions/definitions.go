package definitions

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
)

// customResourceDefinitions is the resource of definitions.
var customResourceDefinitions = meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Needs is what Definitions are made of.
type Needs struct {
	Host generic.Host // of the server
	// Home is where the instances of all definitions are stored.
	Home *backing.Backend
	// Router and Discovery are those of the delegation chain.
	Router    *router.Config
	Discovery *router.Discovery
	Before    Before
	// Shared says that other servers may use the same store.
	Shared bool
	// Resolve finds the services of conversion webhooks.
	Resolve callout.Resolver
	// Flawed is told of flaws in the certificates of conversion webhooks.
	Flawed func(callout.Flaw)
	// Metrics is where conversions are counted.
	Metrics prometheus.Registerer
}

// Before reports whether a link of the delegation chain before this one serves a group. It is
// called for requests only: the links before this one are made after it.
type Before func(group string) bool

// Definitions serves definitions and what they define. It is the handler of all requests that no
// link of the delegation chain before it knows. All methods may be called at once.
type Definitions struct {
	host       generic.Host
	home       *backing.Backend
	on         *generic.Server
	converters *converters
	log        *zap.Logger

	// What the loop has found out:
	unread   unread
	seen     *generic.Progress
	declared *declared
}

// New makes Definitions that serve nothing yet. The resource of definitions has to be installed on
// Server; then Start begins.
func New(n Needs) (*Definitions, error) {
	metrics, err := newMetrics(n.Metrics)
	if err != nil {
		return nil, err
	}
	d := &Definitions{
		host: n.Host, home: n.Home, log: filters.LimitLog(n.Host.Log().Named("extensions")),
		converters: newConverters(n.Resolve, n.Flawed, metrics),
		seen:       generic.NewProgress(), declared: newDeclared(),
	}
	end := &chainEnd{Definitions: d, before: n.Before}
	if n.Shared {
		end.ask = &pacedQuestion{ask: n.Home.Cache.Revision, host: n.Host}
	}
	d.on = generic.NewServer("extensions", n.Router, n.Discovery, end)
	end.again = &router.Director{
		REST: d.on.REST, Discovery: d.on.Discovery, Prefix: d.on.Paths, Next: http.HandlerFunc(end.none),
	}
	return d, nil
}

// Start has the definitions followed until the server stops, if they are served. The hooks that it
// returns end when all definitions that are stored are known, and what they define is served.
func (d *Definitions) Start() ([]generic.Hook, error) {
	store := d.host.Store(customResourceDefinitions)
	if store == nil {
		return nil, nil
	}
	outlines, err := extensions.Outlines()
	if err != nil {
		return nil, err
	}
	if store, err = store.Through(outlines); err != nil {
		return nil, err
	}
	l := newLoop(d, store)
	d.host.Go(l.run)
	seen := func(ctx context.Context) error {
		_ = d.seen.Wait(ctx, 0) // it fails when the server ends
		return nil
	}
	list := []meta.GroupResource{customResourceDefinitions}
	return []generic.Hook{
		{Name: "start-apiextensions-informers", Run: generic.Loads(d.host, list)},
		{Name: "start-apiextensions-controllers", Run: seen},
		{Name: "crd-informer-synced", Run: seen},
	}, nil
}

// Server is where definitions and custom resources are installed.
func (d *Definitions) Server() *generic.Server { return d.on }

// Seen is how far the definitions have been followed. What a definition defines is served when its
// revision has been reached, if it is to be served at all.
func (d *Definitions) Seen() *generic.Progress { return d.seen }

// ServeHTTP answers a request that no link of the delegation chain before this one knows.
func (d *Definitions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if info := request.From(r.Context()); info != nil && info.IsResource {
		if err := d.unread.of(meta.GroupResource{Group: info.Group, Resource: info.Resource}); err != nil {
			router.WriteError(w, r, err)
			return
		}
	}
	d.on.ServeHTTP(w, r)
}
