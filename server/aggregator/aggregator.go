package aggregator

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// apiServices is the resource that an Aggregator follows.
var apiServices = apiregistrationv1.GroupVersion.WithResource("apiservices").GroupResource()

// Config says how servers behind this one are reached.
type Config struct {
	// CertFile and KeyFile hold, as PEM, the client certificate that this server shows to servers
	// behind, and its key. They are read again when they change. If they are "", the server shows a
	// certificate of an authority of its own under DataDir/pki, and publishes that authority for
	// servers behind to trust, unless Authentication.FrontProxy names another CA.
	// (--proxy-client-cert-file, --proxy-client-key-file)
	CertFile, KeyFile string
	// ByEndpoints reaches a Service at one of its endpoints, instead of at its cluster IP. The
	// Aggregator ignores it: it configures the resolver in Needs.Resolve.
	// (--enable-aggregator-routing)
	ByEndpoints bool
	// ForwardRedirects passes a redirect of a server behind on to the client. Without it the client
	// gets 502 instead of a redirect. (--aggregator-reject-forwarding-redirect=false)
	ForwardRedirects bool
	// NoUIDs: requests to servers behind do not have the header with the user's UID.
	// (--feature-gates=RemoteRequestHeaderUID=false)
	NoUIDs bool
}

// Validate returns what is wrong with c.
func (c *Config) Validate() error {
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("--proxy-client-cert-file and --proxy-client-key-file must be given together")
	}
	return nil
}

// Needs is what New takes.
type Needs struct {
	Config Config // valid
	Host   generic.Host
	// On is the server of the delegation chain that serves APIServices. It hands requests that it
	// does not know to the next server of the chain.
	On *generic.Server
	// Resolve finds the addresses of services.
	Resolve callout.Resolver
	// Certificate returns the client certificate that this server shows to servers behind at the
	// moment, or nil for none. It is called for each request.
	Certificate func() *tls.Certificate
	// Gate is the gate of this server. Each route gets a gate of its own with the same number of
	// seats (filters.Separate).
	Gate filters.Gate
	// Flawed is told of each request to a server behind whose certificate has a flaw.
	Flawed  func(callout.Flaw)
	Metrics prometheus.Registerer
	// Ends is a context that ends at shutdown, before the server refuses requests. Connections that
	// have switched protocols end with it.
	Ends context.Context
	// Loop runs work that is a client of the server itself, with a context that ends when Ends
	// does.
	Loop func(work func(ctx context.Context))
}

// Aggregator is the first link of the delegation chain. New makes it, Start begins its work. It is
// an http.Handler for requests that have passed the filters.
type Aggregator struct {
	host  generic.Host
	on    *generic.Server
	log   *zap.Logger
	reach *reach

	seen         *generic.Progress
	remotes      map[string]*remote                            // by name of the APIService; owned by the loop
	table        atomic.Pointer[map[meta.GroupVersion]*remote] // nil: there are none
	docs         *neighbours
	availability *availability
}

// New makes an Aggregator without remotes. It registers metrics, and starts no goroutine.
func New(n Needs) (*Aggregator, error) {
	metrics, err := newMetrics(n.Metrics)
	if err != nil {
		return nil, err
	}
	log := filters.LimitLog(n.Host.Log().Named("aggregator"))
	a := &Aggregator{
		host: n.Host, on: n.On, log: log, seen: generic.NewProgress(), remotes: map[string]*remote{},
		reach: &reach{
			Config: n.Config, resolve: n.Resolve, certificate: n.Certificate, gate: n.Gate, flawed: n.Flawed,
			ends: n.Ends, log: log,
		},
		availability: &availability{metrics: metrics, ends: n.Ends, loop: n.Loop},
	}
	a.docs = &neighbours{
		discovery: n.On.Discovery, run: n.Host.Go, log: log, changed: make(chan struct{}),
		handler: func(gv meta.GroupVersion) http.Handler { return schemaHandler{a, gv} },
	}
	return a, nil
}

// ServeHTTP hands a request for the group version of a server behind on. Other requests go to On if
// they may concern APIServices, and otherwise directly to the next server of the chain.
func (a *Aggregator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// Proxies reports whether a server behind gets the requests for a group version at the moment.
func (a *Aggregator) Proxies(gv meta.GroupVersion) bool { return a.other(gv) != nil }

// other returns the remote of a group version, nil if no server behind has it.
func (a *Aggregator) other(gv meta.GroupVersion) *remote {
	if table := a.table.Load(); table != nil {
		return (*table)[gv]
	}
	return nil
}

// schemaHandler hands each request, whatever its path, to the server behind that serves version.
// Discovery uses it for the OpenAPI documents of the version. It is comparable, so that sameVersion
// can compare handlers.
type schemaHandler struct {
	*Aggregator
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

// legacy is the group version v1 of the core group, to which all paths under /api belong.
var legacy = meta.GroupVersion{Version: "v1"}

// versionOf returns the group version to which the path of a request belongs, or the zero value if
// it belongs to none: /apis/apps/v1/deployments belongs to apps/v1. The path is looked at even if
// the request is for no resource, because documents such as /apis/apps/v1 are handed on, too.
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
