package connections

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/connections/connectionstest"
)

// token authenticates a request over pipes.
const token = "secret"

// served has two listeners that serve over pipes.
type served struct {
	*connectionstest.Pipes
	secure *connectionstest.Pipes // serves TLS
	tls    *tls.Config
	all    *conns // the connections of both
}

// overPipes serves in fake time, with room for bound connections.
func overPipes(t *testing.T, bound int, f func(t *testing.T, p *served)) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	cert.Close()
	synctest.Test(t, func(t *testing.T) {
		bursts := &Bursts{}
		l, err := New(Config{
			TLS:   &tls.Config{Certificates: cert.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}},
			Bound: bound, Streams: MaxStreams, AnswerTimeout: 30 * time.Second, Bursts: bursts, Log: zap.NewNop(),
		}, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		p := &served{connectionstest.NewPipes(), connectionstest.NewPipes(), l.cfg.TLS, l.conns}
		l.UseListeners(p.secure, p.Pipes)
		l.Serve(http.HandlerFunc(answer))
		f(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("connections are left: %v", err)
		}
	})
}

// tokenAuthenticator is an authenticator that accepts token.
type tokenAuthenticator struct{}

func (tokenAuthenticator) Authenticate(r *http.Request) (*request.User, error) {
	if r.Header.Get("Authorization") == "Bearer "+token {
		return &request.User{Name: "admin"}, nil
	}
	return &request.User{Name: request.AnonymousUser}, nil
}

// answer answers a watch when its client leaves, and everything else at once.
func answer(w http.ResponseWriter, r *http.Request) {
	if _, err := MarkAuthenticated(tokenAuthenticator{}).Authenticate(r); err != nil {
		panic(err)
	}
	if r.URL.Query().Get("watch") == "" {
		io.WriteString(w, "{}\n")
		return
	}
	rc := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	_ = rc.SetWriteDeadline(time.Time{})
	_ = rc.Flush()
	<-r.Context().Done()
}
