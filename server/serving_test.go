package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters"
	"github.com/coracle-project/coracle/filters/authn/pkitest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestCertificatesByName: a client gets the certificate for the host name that it sends. Exact
// names go before wildcards, and names in the configuration before those in certificates.
func TestCertificatesByName(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	named := func(name string, names ...string) identity.NamedCertificate {
		cert, key := pkitest.Files(t, ca.Client(name))
		return identity.NamedCertificate{CertFile: cert, KeyFile: key, Names: names}
	}
	s := servertest.Start(t, server.Config{Serving: server.ServingConfig{TLS: identity.TLS{ByName: []identity.NamedCertificate{
		named("first.example.com"), named("second.example.com", "*.example.com", "Three.example.com"), named("third.example.com", "three.example.com"),
		named("fourth.example.com", "127.0.0.1"),
	}}}})
	for asked, want := range map[string]string{
		"first.example.com": "first.example.com", "FIRST.example.com": "first.example.com", "x.example.com": "second.example.com",
		"three.example.com": "second.example.com", "x.y.example.com": "kube-apiserver", "third.example.com": "second.example.com",
		"localhost": "kube-apiserver", "": "fourth.example.com",
	} {
		c, err := tls.Dial("tcp", s.Server.Address().String(), &tls.Config{ServerName: asked, InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("%q: got the certificate of %s, want %s", asked, got, want)
		}
		c.Close()
	}
}

// TestProtocols: connections can use only the protocols, ciphers and curves of the configuration.
func TestProtocols(t *testing.T) {
	s := servertest.Start(t, server.Config{Serving: server.ServingConfig{HTTP: server.HTTPConfig{HTTP1Only: true}, TLS: identity.TLS{
		MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}, Curves: []tls.CurveID{tls.CurveP384},
	}}})
	dial := func(c *tls.Config) (tls.ConnectionState, error) {
		c.InsecureSkipVerify, c.NextProtos = true, []string{"h2", "http/1.1"}
		conn, err := tls.Dial("tcp", s.Server.Address().String(), c)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	got, err := dial(&tls.Config{MaxVersion: tls.VersionTLS12})
	if err != nil || got.NegotiatedProtocol != "http/1.1" || got.CipherSuite != tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 || got.CurveID != tls.CurveP384 {
		t.Errorf("got %q, suite %d, curve %v, %v", got.NegotiatedProtocol, got.CipherSuite, got.CurveID, err)
	}
	if _, err := dial(&tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if _, err := dial(&tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}); err == nil {
		t.Error("another curve was accepted")
	}
}

// TestHeaders: each answer names the server. With HSTS configured, each answer tells browsers to
// use only TLS.
func TestHeaders(t *testing.T) {
	settings := filters.Settings{HSTS: []string{"max-age=7", "preload"}}
	s := servertest.Start(t, server.Config{Serving: server.ServingConfig{HTTP: server.HTTPConfig{Settings: settings}}})
	for _, path := range []string{"/version", "/api/v1/namespaces/none", "/nowhere"} {
		resp, err := s.Client.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Server"); got != "Coracle/"+server.Version {
			t.Errorf("%s: got the server %q", path, got)
		}
		if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=7; preload" {
			t.Errorf("%s: got HSTS %q", path, got)
		}
	}
}

// TestGoaway: with the largest chance, one in fifty requests makes its client open a new
// connection. Without a chance, none does.
func TestGoaway(t *testing.T) {
	for chance, few := range map[float64]int{0: 0, 0.02: 1} {
		settings := filters.Settings{GoawayChance: chance}
		s := servertest.Start(t, server.Config{Serving: server.ServingConfig{HTTP: server.HTTPConfig{Settings: settings}}})
		dialled := -1 // the first connection does not count
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				dialled++
			}
		}}
		for range 1000 { // the probability that no request of these has an effect is 1 in 600 million
			r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", s.URL+"/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.Client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if dialled < few || few == 0 && dialled > 0 {
			t.Errorf("with a chance of %v: got %d new connections for 1000 requests", chance, dialled)
		}
	}
}

// TestSharedPort runs two servers on one port. A third one fails, because it does not share the
// port.
func TestSharedPort(t *testing.T) {
	first := servertest.Start(t, server.Config{Serving: server.ServingConfig{Share: server.Sharing{Port: true}}})
	port := first.Server.Address().(*net.TCPAddr).Port
	second := servertest.Start(t, server.Config{Serving: server.ServingConfig{SecurePort: port, Share: server.Sharing{Port: true}}})
	if got := second.Server.Address().(*net.TCPAddr).Port; got != port {
		t.Errorf("got port %d, want %d", got, port)
	}
	cfg := config(t)
	cfg.Serving.SecurePort = port
	alone, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a server that does not share: got %v", err)
	}
}

// TestProfilesSocket requests a profile through a socket. The socket replaces one that a killed
// server has left, but not that of a running server. It is removed when the server ends.
func TestProfilesSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // the path of the test's own folder may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "debug")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	t.Run("server", func(t *testing.T) {
		at := server.Config{Serving: server.ServingConfig{Debug: inspect.Config{Profiles: inspect.Profiles{Socket: path}}}}
		servertest.Start(t, at)
		if second, err := (servertest.Environment{Config: at}).Start(); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("a second server at the socket: got %v, %v", second, err)
		}
		c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		defer c.CloseIdleConnections()
		resp, err := c.Get("http://socket/debug/pprof/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), "test") {
			t.Errorf("got %d %s, %v", resp.StatusCode, body, err)
		}
	})
	if _, err := os.Stat(path); err == nil {
		t.Error("the socket is still there")
	}
}

// TestLivezGrace: during the grace period for the start, a server is live but not ready.
func TestLivezGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t)
		cfg.Serving.LivezGrace = time.Minute
		cfg.Setup = func(s *server.Server) error { // the hook ends after Run has started it
			return s.AddPostStartHook(server.Hook{Name: "mine", Run: func(context.Context, *server.Server) error { return nil }})
		}
		s, err := servertest.New(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p := &inProcess{&handled{Server: s, TB: t}}
		for _, tt := range []struct {
			after time.Duration
			want  map[string]int
		}{
			{0, map[string]int{"/livez": 200, "/livez/poststarthook/mine": 200, "/readyz": 500, "/healthz": 500, "/healthz/poststarthook/mine": 500}},
			{time.Minute, map[string]int{"/livez": 500, "/livez/poststarthook/mine": 500, "/readyz": 500}},
		} {
			time.Sleep(tt.after)
			for path, want := range tt.want {
				if got, body := p.do("GET", path, ""); got != want {
					t.Errorf("%s after %v: got %d %s, want %d", path, tt.after, got, body, want)
				}
			}
		}
	})
}
