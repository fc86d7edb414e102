package server

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// The aggregator is the first link of the delegation chain. It serves APIServices, and hands requests for the group versions of those
// that name a service on to the server behind it (aggregationproxy.go), before anybody here is asked for them, custom resources
// included. All else is the core's business, at the cost of a look at a pointer, or into a map.
//
// One loop follows the APIServices on every server, and keeps the table of group versions that others have.

// AggregationConfig says how other API servers are reached, which serve group versions behind this one.
type AggregationConfig struct {
	// CertFile and KeyFile hold the certificate that is shown to them, and its key, as PEM. They are read again when they change. Without
	// them the server shows one of a CA of its own under DataDir/pki, which it tells them to trust, unless
	// Authentication.FrontProxy says whom to. (--proxy-client-cert-file, --proxy-client-key-file)
	CertFile, KeyFile string
	// ByEndpoints reaches services at one of their endpoints, instead of by their cluster IPs. (--enable-aggregator-routing)
	ByEndpoints bool
	// ForwardRedirects shows clients where they are redirected to, which otherwise is an error.
	// (--aggregator-reject-forwarding-redirect=false)
	ForwardRedirects bool
	// NoUIDs leaves out the uids of users. (--feature-gates=RemoteRequestHeaderUID=false)
	NoUIDs bool
}

func (c *AggregationConfig) validate() error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("a certificate for servers behind this one and its key must be given together")
	}
	return nil
}

// aggregator knows who serves which group version in place of this server.
type aggregator struct {
	*generic.Resources
	AggregationConfig
	on      *generic.Server // where APIServices are
	metrics *metrics
	log     *zap.Logger
	reach

	seen  *generic.Progress
	known map[string]*remote                            // by the name of the APIService; owned by the loop
	table atomic.Pointer[map[meta.GroupVersion]*remote] // nil: there are none
	docs  *neighbours                                   // as they describe themselves

	availability availability
}

// reach is what it takes to reach other servers.
type reach struct {
	resolve     callout.Resolver        // finds addresses of services
	certificate func() *tls.Certificate // is shown to them; nil for none
	gate        filters.Gate            // of this server: there is one apart for each other one
	ends        context.Context         // the end of connections that have switched protocols
}

func newAggregator(c AggregationConfig, r *generic.Resources, on *generic.Server, m *metrics, work *generic.Work, log *zap.Logger) *aggregator {
	a := &aggregator{
		Resources: r, AggregationConfig: c, on: on, metrics: m, log: filters.LimitLog(log.Named("aggregator")),
		reach: reach{resolve: resolverOf(r.Stores, c.ByEndpoints)}, seen: generic.NewProgress(), known: map[string]*remote{},
	}
	a.docs = &neighbours{
		discovery: on.Discovery, work: work, log: a.log, changed: make(chan struct{}),
		handler: func(gv meta.GroupVersion) http.Handler { return schemaHandler{a, gv} },
	}
	return a
}

// schemaHandler hands requests on to the server that has a group version, wherever their paths are.
type schemaHandler struct {
	*aggregator
	version meta.GroupVersion
}

// ServeHTTP implements http.Handler.
func (h schemaHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if to := h.other(h.version); to != nil {
		to.ServeHTTP(w, r)
		return
	}
	router.NotFound(w, r)
}

// ServeHTTP answers a request that has come through the filters.
func (a *aggregator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.From(r.Context())
	if a.table.Load() != nil {
		if to := a.other(versionOf(r.URL.Path, info)); to != nil {
			to.ServeHTTP(w, r)
			return
		}
	}
	if info != nil && info.IsResource && info.Group != apiregistrationv1.GroupVersion.Group {
		a.on.Next().ServeHTTP(w, r)
		return
	}
	a.on.ServeHTTP(w, r)
}

// other returns the other server that has a group version, nil if none has.
func (a *aggregator) other(gv meta.GroupVersion) *remote {
	if table := a.table.Load(); table != nil {
		return (*table)[gv]
	}
	return nil
}

// legacy is the version that stands for all paths under /api.
var legacy = meta.GroupVersion{Version: "v1"}

// versionOf returns the group version that a path is inside of, the zero one if there is none.
func versionOf(path string, info *request.Info) meta.GroupVersion {
	if info != nil && info.IsResource && info.Group != "" && !strings.HasPrefix(path, "//") {
		return meta.GroupVersion{Group: info.Group, Version: info.Version}
	}
	if path == "/api" || strings.HasPrefix(path, "/api/") {
		return legacy
	}
	rest, ok := strings.CutPrefix(path, "/apis/")
	group, rest, _ := strings.Cut(rest, "/")
	version, _, _ := strings.Cut(rest, "/")
	if !ok || group == "" || version == "" {
		return meta.GroupVersion{}
	}
	return meta.GroupVersion{Group: group, Version: version}
}

// begin has APIServices followed, if there is such a resource. The server is not ready before those are known that are stored.
func (a *aggregator) begin(s *Server) error {
	if a.Store(apiServices) == nil {
		return nil
	}
	s.Go(a.run)
	seen := func(ctx context.Context, _ *Server) error {
		_ = a.seen.Wait(ctx, 0) // it fails when the server ends
		return nil
	}
	return errors.Join(
		s.addHooks(generic.Hook{Name: "start-kube-aggregator-informers", Run: generic.Loads(s, []meta.GroupResource{apiServices})}),
		s.AddPostStartHook(Hook{Name: "apiservice-registration-controller", Run: seen}),
		// From then on a request for OpenAPI is answered with what the servers behind this one say:
		// they are asked when it comes.
		s.AddPostStartHook(Hook{Name: "apiservice-openapi-controller", Run: seen}),
		s.AddPostStartHook(Hook{Name: "apiservice-discovery-controller", Run: func(ctx context.Context, _ *Server) error {
			if a.seen.Wait(ctx, 0) == nil {
				a.docs.wait(ctx)
			}
			return nil
		}}),
		s.AddPostStartHook(Hook{Name: "apiservice-status-remote-available-controller", Run: func(_ context.Context, s *Server) error {
			a.availability.begin(a, s)
			return nil
		}}))
}

// run follows the APIServices until ctx ends.
func (a *aggregator) run(ctx context.Context) {
	defer func() {
		for _, r := range a.known {
			r.close()
		}
	}()
	for {
		err := a.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, storage.Closed) {
			return
		}
		if !errors.Is(err, storage.Compacted) {
			a.log.Log(backing.Severity(err), "API services cannot be followed; it will be tried again", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(generic.Again):
		}
	}
}

// follow looks at all APIServices, and then at each that changes, until that fails.
func (a *aggregator) follow(ctx context.Context) error {
	objects := a.Store(apiServices).Objects()
	w, err := objects.Watch(ctx, cache.WatchOptions{Prefix: objects.Prefix(), Initial: true, InitialEnd: true, Corrupt: true})
	if err != nil {
		return err
	}
	defer w.Close()
	a.metrics.availability.unavailable.Reset()
	present := map[string]bool{} // nil after the initial state
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		changed := false
		for i := range events {
			e := &events[i]
			switch {
			case e.InitialEnd:
				for name := range a.known {
					if !present[name] {
						changed = a.forget(name) || changed
					}
				}
				present = nil
			case e.Type == cache.Bookmark:
			case e.Type == cache.Deleted:
				name := a.nameOf(e.Object)
				changed = a.forget(name) || changed
				a.metrics.availability.forget(name)
			default:
				if present != nil {
					present[a.nameOf(e.Object)] = true
				}
				changed = a.observe(ctx, e.Object) || changed
			}
		}
		if changed {
			a.publish()
		}
		if present == nil && len(events) > 0 {
			a.seen.Reach(events[len(events)-1].Rev)
		}
	}
}

func (a *aggregator) nameOf(obj *cache.Object) string {
	return strings.TrimPrefix(obj.Key, a.Store(apiServices).Objects().Prefix())
}

// observe takes in a new state of an APIService, and reports whether the table changes. What cannot be read counts for nothing new.
func (a *aggregator) observe(ctx context.Context, obj *cache.Object) bool {
	name := a.nameOf(obj)
	err := obj.Err()
	var decoded meta.Object
	if err == nil {
		decoded, err = a.Store(apiServices).Decode(ctx, obj)
	}
	if err != nil {
		a.log.Warn("an API service cannot be read", zap.String("name", name), zap.Error(err))
		return false
	}
	service := decoded.(*apiregistrationv1.APIService)
	a.metrics.availability.show(service)
	if service.Spec.Service == nil {
		return a.forget(name)
	}
	known := a.known[name]
	next := a.newRemote(service, known)
	if known != nil && known.route != next.route {
		known.close()
	}
	a.known[name] = next
	return true
}

// forget ends what an APIService said that another server has.
func (a *aggregator) forget(name string) bool {
	known := a.known[name]
	if known == nil {
		return false
	}
	delete(a.known, name)
	known.close()
	return true
}

// publish puts the table in force.
func (a *aggregator) publish() {
	defer a.docs.set(a.known)
	defer a.availability.need(len(a.known) > 0)
	if len(a.known) == 0 {
		a.table.Store(nil)
		return
	}
	table := make(map[meta.GroupVersion]*remote, len(a.known))
	for r := range maps.Values(a.known) {
		table[r.version()] = r
	}
	a.table.Store(&table)
}
