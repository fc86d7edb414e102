package callout

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hook is a webhook: a TLS server that counts its connections and calls.
type hook struct {
	*httptest.Server
	conns, calls atomic.Int64
	closed       chan struct{} // gets a token for each connection that ends
}

// serve starts a webhook whose certificate is for 127.0.0.1 and the given names.
func serve(t testing.TB, a *pkitest.Authority, http2 bool, h http.HandlerFunc, names ...string) *hook {
	t.Helper()
	s := &hook{closed: make(chan struct{}, 1000)}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		h(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.conns.Add(1)
		case http.StateClosed:
			s.closed <- struct{}{}
		}
	}
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.Server(append(names, "127.0.0.1")...).TLS()}, ClientAuth: tls.RequestClientCert}
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// client returns a client that is closed with the test.
func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "hook"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func echo(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }
