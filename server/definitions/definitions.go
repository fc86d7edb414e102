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
	"github.com/coracle-project/coracle/server/definitions/declared"
	"github.com/coracle-project/coracle/server/generic"
)

// customResourceDefinitions is the resource of definitions.
var customResourceDefinitions = meta.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}

// Needs are the arguments of New.
type Needs struct {
	Host generic.Host // of the server
	// Backend stores the instances of all definitions.
	Backend *backing.Backend
	// Router and Discovery are shared by all links of the delegation chain.
	Router    *router.Config
	Discovery *router.Discovery
	// ServedEarlier tells which groups the earlier links of the chain serve. A request for an
	// unknown resource in one of these groups gets a Status instead of a plain 404.
	ServedEarlier ServedEarlier
	// Shared says that other servers may use the same store. If so, a request for an unknown
	// resource may cause a read of the store.
	Shared bool
	// Resolve finds the address of a Service that a conversion webhook names.
	Resolve callout.Resolver
	// Flawed is called for each flaw in the certificate of a conversion webhook.
	Flawed func(callout.Flaw)
	// Metrics gets the metrics of conversions (metrics.go).
	Metrics prometheus.Registerer
}

// ServedEarlier reports whether a link of the delegation chain before this one serves a group.
// Definitions calls it only while it serves requests, because the earlier links are made after
// Definitions.
type ServedEarlier func(group string) bool

// Definitions serves definitions and the resources that they define. It is the handler of all
// requests that no earlier link of the delegation chain serves. All methods may be called at once.
type Definitions struct {
	host       generic.Host
	home       *backing.Backend
	on         *generic.Server
	converters *converters
	log        *zap.Logger

	// The loop writes these three fields, and requests read them.
	unread   unread
	seen     *generic.Progress // see Seen
	declared *declared.Versions
}

// New makes Definitions that serve nothing yet. The caller installs the resource of definitions on
// Server, and then calls Start.
func New(n Needs) (*Definitions, error) {
	metrics, err := newMetrics(n.Metrics)
	if err != nil {
		return nil, err
	}
	d := &Definitions{
		host: n.Host, home: n.Backend, log: filters.LimitLog(n.Host.Log().Named("extensions")),
		converters: newConverters(n.Resolve, n.Flawed, metrics),
		seen:       generic.NewProgress(), declared: declared.New(),
	}
	end := &chainEnd{Definitions: d, before: n.ServedEarlier}
	if n.Shared {
		end.ask = &pacedQuestion{ask: n.Backend.Cache.Revision, host: n.Host}
	}
	d.on = generic.NewServer("extensions", n.Router, n.Discovery, end)
	end.again = &router.Director{
		REST: d.on.REST, Discovery: d.on.Discovery, Prefix: d.on.Paths, Next: http.HandlerFunc(end.none),
	}
	return d, nil
}

// Start starts the loop, which follows the definitions until the server stops. It starts nothing
// and returns no hooks if the resource of definitions is not served. The hooks have the names of
// kube-apiserver's. They return when the loop has seen all stored definitions, and serves what they
// define.
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
		_ = d.seen.Wait(ctx, 0) // fails only when the server stops
		return nil
	}
	list := []meta.GroupResource{customResourceDefinitions}
	return []generic.Hook{
		{Name: "start-apiextensions-informers", Run: generic.CacheLoader(d.host, list)},
		{Name: "start-apiextensions-controllers", Run: seen},
		{Name: "crd-informer-synced", Run: seen},
	}, nil
}

// Server is the link of the delegation chain on which definitions and custom resources are
// installed.
func (d *Definitions) Server() *generic.Server { return d.on }

// Seen is the revision up to which the loop has followed the definitions. When Seen has reached the
// revision of a definition, its resource is served, unless the definition lacks its names or is
// faulty.
func (d *Definitions) Seen() *generic.Progress { return d.seen }

// Versions returns the versions that definitions mark as served, including definitions that are not
// served because they lack their names. The map belongs to the caller.
func (d *Definitions) Versions() map[meta.GroupVersion]bool { return d.declared.All() }

// VersionsChanged returns a channel that is closed when the result of Versions next changes. To
// miss no change, a caller takes the channel before it calls Versions.
func (d *Definitions) VersionsChanged() <-chan struct{} { return d.declared.Next() }

// ServeHTTP answers a request that no earlier link of the delegation chain serves. It refuses
// requests for the resource of an unread definition before any handler sees them.
func (d *Definitions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if info := request.From(r.Context()); info != nil && info.IsResource {
		if err := d.unread.errorOf(meta.GroupResource{Group: info.Group, Resource: info.Resource}); err != nil {
			router.WriteError(w, r, err)
			return
		}
	}
	d.on.ServeHTTP(w, r)
}
