package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// remote is a group version that a server behind this one has, as its APIService says. It does not change.
type remote struct {
	*route
	http.Handler // of what is handed on
	service      *apiregistrationv1.APIService
	available    bool
}

// route is the way to a server behind this one. It stays as long as what leads there does.
type route struct {
	*aggregator
	target callout.Target
	seated filters.Filter             // gives seats to requests that wait for the server
	now    atomic.Pointer[connection] // nil until somebody asks
	gone   atomic.Bool                // nothing leads there any more
}

// connection is what connects, for as long as this server shows one certificate.
type connection struct {
	*callout.Forwarder
	err  error // why there is none
	cert *tls.Certificate
}

// newRemote makes a remote of what an APIService says now. before is what it said until now, nil for nothing.
func (a *aggregator) newRemote(service *apiregistrationv1.APIService, before *remote) *remote {
	r := &remote{service: service, available: isAvailable(service)}
	to, spec := service.Spec.Service, &service.Spec
	target := callout.Target{
		Service:  &callout.Service{Namespace: to.Namespace, Name: to.Name, Port: int(scheme.OrZero(to.Port))},
		CABundle: spec.CABundle, Insecure: spec.InsecureSkipTLSVerify,
	}
	if before != nil && *before.target.Service == *target.Service && bytes.Equal(before.target.CABundle, target.CABundle) &&
		before.target.Insecure == target.Insecure {
		r.route = before.route
	} else {
		r.route = &route{aggregator: a, target: target, seated: filters.Apart(a.gate, lasts, router.WriteError)}
	}
	r.Handler = r.seated(r.handOn)
	return r
}

// version is what the server behind has.
func (r *remote) version() meta.GroupVersion {
	return meta.GroupVersion{Group: r.service.Spec.Group, Version: r.service.Spec.Version}
}

// resolve returns where the server behind is now: host and port.
func (r *route) resolve(ctx context.Context) (host string, err error) {
	return r.aggregator.resolve(ctx, *r.target.Service)
}

// connect returns what sends requests to the server behind, to the address in their URL, which resolve returns. It is asked for again
// before each, as the certificate may have changed that this server shows.
func (r *route) connect() *connection {
	now, cert := r.now.Load(), r.certificate()
	if now != nil && now.cert == cert {
		return now
	}
	to := r.target
	if cert != nil {
		to.Certificate = func() (*tls.Certificate, error) { return cert, nil }
	}
	to.Flawed = r.metrics.flaws.behind
	next := &connection{cert: cert}
	next.Forwarder, next.err = callout.NewForwarder(to)
	if !r.now.CompareAndSwap(now, next) {
		return r.now.Load() // somebody was faster
	}
	now.close()
	if r.gone.Load() { // second, as close looks for a connection second
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

func (c *connection) close() {
	if c != nil && c.err == nil {
		c.Close()
	}
}

// close ends the way: its connections end with the last request that is on it. Who comes later
// still finds it.
func (r *route) close() {
	r.gone.Store(true)
	r.now.Load().close()
}

// closeIdle ends the connections that are idle.
func (r *route) closeIdle() {
	if c := r.now.Load(); c != nil && c.err == nil {
		c.CloseIdle()
	}
}

// get asks the server behind for a path, on behalf of a user. A redirect is an answer. The caller closes the body, and bounds what
// is read of it.
func (r *remote) get(ctx context.Context, user *request.User, path string, header http.Header) (*http.Response, error) {
	host, err := r.resolve(ctx)
	if err != nil {
		return nil, err
	}
	req := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: host, Path: path}, Header: header.Clone()}).WithContext(ctx)
	if req.Header == nil {
		req.Header = http.Header{}
	}
	speakFor(req.Header, user, true)
	return r.connect().RoundTrip(req)
}
