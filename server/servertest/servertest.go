// Package servertest runs a Coracle server inside a Go test.
//
//	func TestMine(t *testing.T) {
//		s := servertest.Start(t)
//		resp, err := s.Client.Get(s.URL + "/api/v1/namespaces")
//		...
//	}
//
// A server starts in milliseconds: objects are kept in memory, the ports are free ones, nothing
// outside of a temporary folder is touched and no other process is needed. It is complete: TLS,
// authentication, authorization, admission, controllers. Tests with servers of their own may run in
// parallel.
//
// When the test ends, so does the server, and everything it has started. A credential in its log,
// at whatever level, fails the test: see Guarded.
//
// A suite whose tests share a server, or that has definitions of resources, uses an Environment, in
// place of the one of controller-runtime's envtest: definitions, users with certificates, the
// suite's own webhooks.
//
// A conversion of the Config's groups that loses a field on the way to the hub and back fails the
// test: see scheme/schemetest, which says more in a test of its own.
//
// Not here: clients. URL, CAPEM and Token, or the credentials of a user, are what any Kubernetes
// client needs.
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
	// Server is the server itself, for what no client can see.
	Server *server.Server
	// URL is where the server answers, without a slash at the end: "https://127.0.0.1:34567".
	URL string
	// CAPEM is the authority that signed the server's certificate; nil if the server speaks plain
	// HTTP only.
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
	// Webhooks are those of the Environment, complete; nil if it has none.
	Webhooks *Webhooks

	transport *http.Transport
	cancel    context.CancelFunc // has the server end; nil before it runs
	ended     <-chan error       // what it has ended with
	stop      func() error       // does it once
}

// Start runs a server until the end of the test and returns when it is ready. What cannot start, or
// does not end cleanly, fails the test. At most one Config may be given: Start runs an Environment
// with it and nothing else.
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
	// The test's own context ends before its cleanups run, which may still want to talk to the
	// server.
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

// Stop ends the server and everything that it has started, and removes what it has left on disk.
// Called again it does nothing.
func (s *Server) Stop() error { return s.stop() }

// AddUser returns credentials for a user, who is a member of some groups. What they may do is for
// roles to say.
func (s *Server) AddUser(name string, groups ...string) (*identity.Credentials, error) {
	return s.Server.NewUser(name, groups...)
}

// Anonymous returns a client that trusts CAPEM and sends no credentials.
func (s *Server) Anonymous() *http.Client { return &http.Client{Transport: &watched{s.transport}} }

// authorized adds credentials to requests without any.
type authorized struct {
	next   *watched
	header string
}

// RoundTrip leaves r as it is, as the interface demands.
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", a.header)
	}
	return a.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the transport.
func (a *authorized) CloseIdleConnections() { a.next.CloseIdleConnections() }

// watched learns the credentials that are sent, so that they are found in logs.
type watched struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	Sent(r)
	return w.Transport.RoundTrip(r)
}
