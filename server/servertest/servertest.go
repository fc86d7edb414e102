// Package servertest runs a Coracle server inside a Go test.
//
//	func TestMine(t *testing.T) {
//		s := servertest.Start(t)
//		resp, err := s.Client.Get(s.URL + "/api/v1/namespaces")
//		...
//	}
//
// A server starts in milliseconds: it keeps objects in memory, listens on free ports, touches
// nothing outside a temporary folder, and needs no other process. It is complete: TLS,
// authentication, authorization, admission, controllers. Tests with servers of their own may run in
// parallel.
//
// Laws:
//   - The server ends with the test, and so does everything that it has started.
//   - A credential in the server's log, at any level, fails the test: see Guarded.
//   - If a conversion of the Config's groups loses a field on the way to the hub and back, the test
//     fails. A test with scheme/schemetest itself reports more.
//
// A suite whose tests share a server, or that needs CustomResourceDefinitions, uses an Environment,
// as it would use envtest of controller-runtime. An Environment has definitions, users with
// certificates, and the suite's own webhooks.
//
// Not here: clients. Any Kubernetes client works with URL, CAPEM and Token, or with the credentials
// of a user.
//
// Read: servertest.go, environment.go, webhooks.go, installed.go.
package servertest

import (
	"context"
	"net/http"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
)

// Token is the bearer token of the user "admin", a member of system:masters, on every server of
// this package.
const Token = "servertest-admin"

// Server is a running server.
type Server struct {
	// Server is the server itself, for tests that look at more than clients can see.
	Server *server.Server
	// URL is the base of all requests, without a slash at the end: "https://127.0.0.1:34567".
	URL string
	// CAPEM is the certificate of the authority that signed the server's certificate; nil if the
	// server speaks plain HTTP only.
	CAPEM []byte
	// Token is the administrator's bearer token.
	Token string
	// Kubeconfig is the path of a kubeconfig for the administrator; "" if the server speaks plain
	// HTTP only.
	Kubeconfig string
	// Client trusts CAPEM and sends Token with each request that has no Authorization header of its
	// own.
	Client *http.Client
	// Admin are credentials of the user "admin", a member of system:masters; nil if the server
	// speaks plain HTTP only.
	Admin *identity.Credentials
	// Webhooks is a copy of Environment.Webhooks with all fields set, or nil if
	// Environment.Webhooks is nil.
	Webhooks *Webhooks

	transport *http.Transport
	cancel    context.CancelFunc // ends the server; nil until it is ready
	ended     <-chan error       // gets the error of server.Server.Run
	stop      func() error       // ends the server and removes its data; works once
}

// Start runs a server until the end of the test, and returns when it is ready. A server that cannot
// start, or does not end cleanly, fails the test. config has at most one Config; without one, the
// server has the defaults of an Environment.
func Start(t testing.TB, config ...server.Config) *Server {
	t.Helper()
	var e Environment
	switch len(config) {
	case 0:
	case 1:
		e.Config = config[0]
	default:
		t.Fatal("servertest: more than one Config")
	}
	e.Config = Guarded(t, e.Config)
	s, err := e.start()
	if err != nil {
		t.Fatal(err)
	}
	// The server does not run in the test's context, because that ends before the test's cleanups,
	// which may still send requests.
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, loss := range s.losses(e.Config.API.Groups) {
		t.Errorf("%v", loss)
	}
	return s
}

// Stop ends the server and everything that it has started, and removes its temporary folder. A
// second call does nothing and returns the same error.
func (s *Server) Stop() error { return s.stop() }

// AddUser returns credentials for a user who is a member of groups. The user has only the rights
// that roles grant to the name or to one of the groups.
func (s *Server) AddUser(name string, groups ...string) (*identity.Credentials, error) {
	return s.Server.NewUser(name, groups...)
}

// Anonymous returns a client that trusts CAPEM and sends no credentials.
func (s *Server) Anonymous() *http.Client { return &http.Client{Transport: &watched{s.transport}} }

// authorized adds an Authorization header to requests that have none.
type authorized struct {
	next   *watched
	header string
}

// RoundTrip implements http.RoundTripper. It changes a copy of r, because the interface forbids to
// change r.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", a.header)
	}
	return a.next.RoundTrip(r)
}

// CloseIdleConnections passes the call of http.Client.CloseIdleConnections to the transport.
func (a *authorized) CloseIdleConnections() { a.next.CloseIdleConnections() }

// watched is a transport that passes each request to Sent, so that logs are searched for its
// credentials.
type watched struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	Sent(r)
	return w.Transport.RoundTrip(r)
}
