package aggregator

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file holds remotes and routes: which server behind serves a group version, and the
// connections to it. The loop makes remotes (follow.go); requests (handover.go), checks
// (availability.go) and questions (neighbours.go) use them.

// reach is what all routes share. It does not change.
type reach struct {
	Config
	resolve     callout.Resolver
	certificate func() *tls.Certificate // nil for none
	gate        filters.Gate            // of this server
	flawed      func(callout.Flaw)
	ends        context.Context // the end of connections that have switched protocols
	log         *zap.Logger
}

// remote is a group version that a server behind serves, from one state of its APIService. It does
// not change: a new state makes a new remote.
type remote struct {
	*route
	http.Handler // hands a request on
	service      *apiregistrationv1.APIService
	available    bool
}

// route is the way to a server behind. It lives until its APIService is deleted or names another
// target, so that connections and seats survive other changes of the APIService.
type route struct {
	*reach
	target callout.Target
	seated filters.Filter             // gives a seat to each request while the server behind works on it
	now    atomic.Pointer[connection] // nil until the first request
	gone   atomic.Bool                // close was called
}

// connection sends requests with one client certificate of this server. A new certificate makes a
// new connection.
type connection struct {
	*callout.Forwarder
	err  error // why there is no Forwarder
	cert *tls.Certificate
}

// newRemote makes the remote of an APIService. before is its last remote, nil for none. If both
// have the same target they share a route.
func (h *reach) newRemote(service *apiregistrationv1.APIService, before *remote) *remote {
	r := &remote{service: service, available: isAvailable(service)}
	to, spec := service.Spec.Service, &service.Spec
	target := callout.Target{
		Service:  &callout.Service{Namespace: to.Namespace, Name: to.Name, Port: int(scheme.OrZero(to.Port))},
		CABundle: spec.CABundle, Insecure: spec.InsecureSkipTLSVerify,
	}
	if before != nil && sameTarget(&before.target, &target) {
		r.route = before.route
	} else {
		r.route = &route{reach: h, target: target, seated: filters.Separate(h.gate, lasts, router.WriteError)}
	}
	r.Handler = r.seated(r.handOn)
	return r
}

// sameTarget reports whether two targets name the same server and verify its certificate in the
// same way.
func sameTarget(a, b *callout.Target) bool {
	return *a.Service == *b.Service && bytes.Equal(a.CABundle, b.CABundle) && a.Insecure == b.Insecure
}

// version returns the group version of the remote.
func (r *remote) version() meta.GroupVersion {
	return meta.GroupVersion{Group: r.service.Spec.Group, Version: r.service.Spec.Version}
}

// address returns the current host and port of the server behind.
func (r *route) address(ctx context.Context) (host string, err error) {
	return r.resolve(ctx, *r.target.Service)
}

// connect returns the connection for one request. The URL of the request must have the host that
// address has returned. connect is called for each request, because this server's client
// certificate may have changed.
func (r *route) connect() *connection {
	now, cert := r.now.Load(), r.certificate()
	if now != nil && now.cert == cert {
		return now
	}
	to := r.target
	if cert != nil {
		to.Certificate = func() (*tls.Certificate, error) { return cert, nil }
	}
	to.Flawed = r.flawed
	next := &connection{cert: cert}
	next.Forwarder, next.err = callout.NewForwarder(to)
	if !r.now.CompareAndSwap(now, next) {
		return r.now.Load() // another request has stored its connection first
	}
	now.close()
	if r.gone.Load() { // after the swap: close sets gone first and then looks for a connection
		next.close()
	}
	return next
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, c.err
	}
	return c.Forwarder.RoundTrip(r)
}

// close closes the connections that c has opened, after their last request. c may be nil.
func (c *connection) close() {
	if c != nil && c.err == nil {
		c.Close()
	}
}

// close ends the route: its connections end with the last request on it. A request that comes later
// is still sent.
func (r *route) close() {
	r.gone.Store(true)
	r.now.Load().close()
}

// closeIdle closes the connections that are idle.
func (r *route) closeIdle() {
	if c := r.now.Load(); c != nil && c.err == nil {
		c.CloseIdle()
	}
}

// get sends a GET to the server behind, on behalf of a user. It does not follow redirects. The
// caller closes the body, and bounds how much of it is read.
func (r *remote) get(ctx context.Context, user *request.User, path string, header http.Header) (*http.Response, error) {
	host, err := r.address(ctx)
	if err != nil {
		return nil, err
	}
	to := &url.URL{Scheme: "https", Host: host, Path: path}
	req := (&http.Request{Method: http.MethodGet, URL: to, Header: header.Clone()}).WithContext(ctx)
	if req.Header == nil {
		req.Header = http.Header{}
	}
	speakFor(req.Header, user, true)
	return r.connect().RoundTrip(req)
}
