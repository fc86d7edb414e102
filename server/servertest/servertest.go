// Package servertest runs a Coracle server inside a Go test.
//
//	func TestMine(t *testing.T) {
//		s := servertest.Start(t)
//		resp, err := s.Client.Get(s.URL + "/api/v1/namespaces")
//		...
//	}
//
// A server starts in milliseconds: objects are kept in memory, the ports are free ones, nothing outside the test's
// temporary folder is touched and no other process is needed. It is complete: TLS, authentication, authorization,
// admission, controllers. Tests with servers of their own may run in parallel.
//
// When the test ends, so does the server, and everything it has started. A credential in its log, at whatever level, fails the test: see
// Guarded.
//
// A conversion of the Config's groups that loses a field on the way to the hub and back fails the test: see
// scheme/schemetest, which says more in a test of its own.
//
// Not here: clients. URL, CAPEM and Token, or the Kubeconfig, are what any Kubernetes client needs.
package servertest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/schemetest"
	"github.com/coracle-project/coracle/server"
)

// Token is the bearer token of the user "admin", a member of system:masters, on every server of this package.
const Token = "servertest-admin"

// Server is a running server.
type Server struct {
	// Server is the server itself, for what no client can see.
	Server *server.Server
	// URL is where the server answers, without a slash at the end: "https://127.0.0.1:34567".
	URL string
	// CAPEM is the authority that signed the server's certificate; nil if the server speaks plain HTTP only.
	CAPEM []byte
	// Token is the administrator's bearer token.
	Token string
	// Kubeconfig is the path of a kubeconfig for the administrator; "" if the server speaks plain HTTP only.
	Kubeconfig string
	// Client trusts CAPEM and sends Token with each request that has no Authorization header of its own.
	Client *http.Client

	transport *http.Transport
}

// Start runs a server until the end of the test and returns when it is ready. What cannot start, or does not end
// cleanly, fails the test.
//
// At most one Config may be given. What it leaves out is: memory for the store, a temporary DataDir, free ports.
func Start(t testing.TB, config ...server.Config) *Server {
	t.Helper()
	var cfg server.Config
	switch len(config) {
	case 0:
	case 1:
		cfg = config[0]
	default:
		t.Fatal("servertest: more than one Config")
	}
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if st := &cfg.Storage; st.Engine == "" && st.Store == nil && len(st.Etcd.Servers) == 0 {
		st.Engine = server.StorageMemory
	}
	if cfg.Serving.SecurePort == 0 {
		cfg.Serving.SecurePort = server.AnyPort
	}
	tokens, err := authn.ReadTokens(strings.NewReader(Token + ",admin,admin,system:masters\n"))
	if err != nil {
		t.Fatal(err)
	}
	known := &cfg.Authentication.Authenticators
	*known = append([]request.Authenticator{authn.Bearer(tokens)}, *known...)
	s, err := New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ts := &Server{Server: s, Token: Token, transport: &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true}}
	ts.checkConversions(t, cfg.API.Groups)
	ts.run(t)
	ts.connect(t)
	return ts
}

// checkConversions reports fields that no object of the groups brings back from the hub.
func (s *Server) checkConversions(t testing.TB, groups []server.Group) {
	t.Helper()
	for _, g := range groups {
		for _, loss := range schemetest.Losses(s.Server.Scheme, nil, g.Name) {
			if loss.Never {
				t.Errorf("servertest: %s", loss)
			}
		}
	}
}

// run serves in the background until the test's cleanup, and waits until the server is ready.
func (s *Server) run(t testing.TB) {
	t.Helper()
	// The test's own context ends before its cleanups run, which may still want to talk to the server.
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Server.Run(ctx) }()
	select {
	case <-s.Server.Ready():
	case err := <-ended:
		cancel()
		t.Fatalf("servertest: the server ended before it was ready: %v", err)
	}
	t.Cleanup(func() {
		s.transport.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("servertest: the server ended with %v", err)
		}
		s.transport.CloseIdleConnections()
	})
}

// connect fills in what a client needs.
func (s *Server) connect(t testing.TB) {
	t.Helper()
	s.Client = &http.Client{Transport: &authorized{next: &watched{s.transport}, header: "Bearer " + s.Token}}
	if s.Server.Address() == nil {
		s.URL = "http://" + reachable(s.Server.PlainAddress())
		return
	}
	ca, err := s.Server.CA()
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatalf("servertest: the server's authority: %v", err)
	}
	s.URL, s.CAPEM, s.Kubeconfig = "https://"+reachable(s.Server.Address()), ca, s.Server.Kubeconfig()
	s.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// Anonymous returns a client that trusts CAPEM and sends no credentials.
func (s *Server) Anonymous() *http.Client {
	return &http.Client{Transport: &watched{s.transport}}
}

// reachable is the address to call a listener at.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}).String()
	}
	return addr.String()
}

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
