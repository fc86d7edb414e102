package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"github.com/coracle-project/coracle/server/identity"
	"github.com/coracle-project/coracle/server/servertest"
)

// dialFrames connects to a server and grants it window bytes of each answer.
func dialFrames(tb testing.TB, address string, window uint32) *connectionstest.Frames {
	tb.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return connectionstest.NewFrames(tb, conn, window)
}

// TestStrangersTakeNoSeat floods a server with requests of strangers that take long. Requests of
// other clients are served.
func TestStrangersTakeNoSeat(t *testing.T) {
	const conns, streams = 16, 120
	const most = 1024 + 256 // refusals that may wait: before they are limited, and their seats
	refused := 0
	for _, tt := range []struct {
		name   string
		window uint32
		attack func(f *connectionstest.Frames)
	}{
		{"answers that nobody reads", 0, func(f *connectionstest.Frames) {
			for range streams {
				f.Send("GET", "/openapi/v2", true)
			}
			f.Answers(streams)
		}},
		{"refusals that nobody reads", 0, func(f *connectionstest.Frames) {
			for range streams {
				f.Send("GET", "/api/v1/"+strings.Repeat("x", 8<<10), true, "authorization", "Bearer nobody")
			}
			for _, status := range f.Answers(streams) {
				if status == "401" {
					refused++
				}
			}
		}},
		{"streams that are reset at once", 1 << 20, func(f *connectionstest.Frames) {
			for range streams {
				f.Must(f.WriteRSTStream(f.Send("GET", "/openapi/v2", true), http2.ErrCodeCancel))
			}
			f.Ping()
		}},
		{"bodies that never come", 1 << 20, func(f *connectionstest.Frames) {
			for range streams {
				f.Send("POST", "/api/v1/namespaces", false, "content-type", "application/json", "content-length", "10")
			}
			f.Ping()
		}},
		{"watches that nobody reads", 0, func(f *connectionstest.Frames) {
			for range streams {
				f.Send("GET", "/api/v1/namespaces?watch=1", true)
			}
			f.Answers(streams)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := servertest.Start(t, server.Config{
				Authentication: identity.Config{Authenticators: aliceOnly(t)},
				Authorization:  access.Config{Modes: []string{access.AlwaysAllow}},
				Limits:         server.LimitsConfig{MaxWatches: 400, RequestTimeout: 5 * time.Second},
			})
			flood := make([]*connectionstest.Frames, conns)
			for i := range flood {
				flood[i] = dialFrames(t, s.Server.Address().String(), tt.window)
				tt.attack(flood[i])
			}
			if refused > most { // on a busy machine, the server has cut off the first ones when the last ones arrive
				for _, f := range flood {
					f.Ping()
					refused -= f.Cut
				}
			}
			if refused > most {
				t.Errorf("%d refusals are waiting to be read, want at most %d", refused, most)
			}
			refused = 0
			stranger := s.Anonymous()
			for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/ping"} {
				if resp := fetch(t, stranger, "GET", s.URL+path, ""); resp != http.StatusOK {
					t.Errorf("%s for a stranger: got %d", path, resp)
				}
			}
			for _, r := range [][2]string{{"GET", "/api"}, {"GET", "/api/v1/namespaces"}, {"POST", "/api/v1/namespaces"}, {"GET", "/api/v1/namespaces?watch=1&timeoutSeconds=1"}} {
				if got := fetch(t, stranger, r[0], s.URL+r[1], "Bearer alice-token"); got/100 != 2 {
					t.Errorf("%s %s for an authenticated user: got %d", r[0], r[1], got)
				}
			}
		})
	}
}

// fetch returns the status code of an answer.
func fetch(t *testing.T, c *http.Client, method, url, authorization string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if method == "POST" {
		r, _ = http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"metadata":{"generateName":"x-"}}`))
		r.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// TestEndInSpiteOfStrangers shuts a server down while strangers have connections that would stay
// open.
func TestEndInSpiteOfStrangers(t *testing.T) {
	t.Parallel() // it waits
	s, err := servertest.New(t, server.Config{
		DataDir: t.TempDir(), Storage: server.StorageConfig{Engine: server.StorageMemory}, Serving: server.ServingConfig{SecurePort: server.AnyPort},
		Authentication: identity.Config{Authenticators: aliceOnly(t)}, Shutdown: server.ShutdownConfig{Timeout: 20 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Ready()
	address := s.Address().String()
	const exec = "/api/v1/namespaces/default/pods/p/exec?command=sh"
	const known = "Authorization: Bearer alice-token\r\n"
	for _, send := range []string{
		"", "GET", "GET /version HTTP/1.1\r\nHost: x\r\nX-A: ", "\x16\x03\x01",
		"POST " + exec + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"POST " + exec + " HTTP/1.1\r\nHost: x\r\n" + known + "Content-Length: 10\r\n\r\n",
		"POST " + exec + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"POST " + exec + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
		"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
		"GET /api/v1/watch HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"GET /readyz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"GET /version?timeout=x HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
		"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n" + known + "Content-Length: 10\r\n\r\n",
		"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{",
		"PUT /version HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\nContent-Length: 10\r\n\r\n",
		"GET /version HTTP/1.1\r\nHost: x\r\n\r\nGET /ver",
	} {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, send); err != nil {
			t.Fatal(err)
		}
	}
	for _, send := range []string{"", "\x16\x03\x01", "GET / HTTP/1.1\r\n"} { // no TLS, or an incomplete handshake
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, send); err != nil {
			t.Fatal(err)
		}
	}
	f := dialFrames(t, address, 0)
	f.Send("POST", exec, false, "content-length", "10")
	f.Send("POST", exec, false)
	f.Send("GET", "/version", true)
	f.Send("GET", "/openapi/v2", true)
	f.Send("GET", "/api/v1/pods?watch=1", false)
	f.Answers(5)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// TestImpersonationOnTheWire: impersonation headers are recognized in every spelling.
func TestImpersonationOnTheWire(t *testing.T) {
	s := servertest.Start(t)
	address := s.Server.Address().String()
	for _, tt := range []struct {
		lines []string // lines of the header, "name: value"
		want  string
	}{
		{[]string{"Impersonate-User: jane"}, "403"}, // jane has no rights
		{[]string{"impersonate-user: jane"}, "403"},
		{[]string{"IMPERSONATE-USER: jane"}, "403"},
		{[]string{"Impersonate-User: jane", "impersonate-group: system:masters"}, "200"},
		{[]string{"iMpErSoNaTe-gRoUp: system:masters"}, "400"}, // lacks a user
		{[]string{"Impersonate-User: jane", "Impersonate-User: system:admin"}, "403"},
		{[]string{"impersonate-uid: 1"}, "400"},
		{[]string{"impersonate-extra-scopes: a", "impersonate-extra-scopes: b"}, "400"},
		{[]string{"impersonate-extra-%2f: a"}, "400"},
		{[]string{"impersonate-extra-: a"}, "400"},
		{[]string{"Impersonate-User:"}, "200"}, // an empty user is no impersonation, as in Kubernetes
		{[]string{"Impersonate-User:", "Impersonate-User: jane"}, "200"},
		{[]string{"impersonate-: a"}, "200"},
		{[]string{"impersonate-whatever: a"}, "200"},
		{[]string{"impersonate: a"}, "200"},
		{[]string{"impersonate_user: a"}, "200"},
		{[]string{"x-impersonate-user: a"}, "200"},
	} {
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", s.Token, strings.Join(tt.lines, "\r\n"))
		answer, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		conn.Close()
		if !strings.HasPrefix(string(answer), "HTTP/1.1 "+tt.want) {
			t.Errorf("HTTP/1.1 %q: got %.60q, want %s", tt.lines, answer, tt.want)
		}

		f := dialFrames(t, address, 1<<20)
		headers := []string{"authorization", "Bearer " + s.Token}
		for _, line := range tt.lines {
			name, value, _ := strings.Cut(line, ":")
			headers = append(headers, strings.ToLower(name), strings.TrimSpace(value))
		}
		id := f.Send("GET", "/api/v1/namespaces", true, headers...)
		if got := f.Answers(1)[id]; got != tt.want {
			t.Errorf("HTTP/2 %q: got %s, want %s", tt.lines, got, tt.want)
		}
		f.Conn.Close()
	}
}
