package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
)

// TestTakenBack: a stranger who only takes back what it asks loses its connection; who is known, or has answers, does not.
func TestTakenBack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		major    int
		answered int
		known    bool
		cut      bool
	}{
		{"a stranger", 2, 0, false, true},
		{"with as many answers", 2, maxTakenBack, false, false},
		{"somebody known", 2, 0, true, false},
		{"by HTTP/1.1", 1, 0, false, false},
	} {
		near, far := net.Pipe()
		c := &conn{Conn: near, all: newConns(10, zap.NewNop())}
		c.all.open = 1
		c.known.Store(tt.known)
		served := 0
		h := patient(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		send := func(takenBack bool) {
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), connKey{}, c))
			defer cancel()
			if takenBack {
				cancel()
			}
			r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
			r.ProtoMajor = tt.major
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		for range tt.answered {
			send(false)
		}
		for range maxTakenBack {
			send(true)
		}
		if c.closed != tt.cut {
			t.Errorf("%s: closed: %v, want %v", tt.name, c.closed, tt.cut)
		}
		if tt.major == 2 && served != tt.answered {
			t.Errorf("%s: %d served, want %d: nobody waits for what is taken back", tt.name, served, tt.answered)
		}
		near.Close()
		far.Close()
	}
}
