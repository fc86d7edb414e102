package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/connections"
	"github.com/coracle-project/coracle/server/connections/connectionstest"
	"github.com/coracle-project/coracle/server/identity"
)

// pipes has the connections to a server, which are pipes.
type pipes struct {
	*connectionstest.Pipes
	secure *connectionstest.Pipes // speaks TLS
	server *Server                // serves both
}

// token authenticates a request over pipes as an administrator.
const token = "secret"

// overPipes runs f with a server over pipes, in fake time.
func overPipes(t *testing.T, f func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		tokens, err := authn.ReadTokens(strings.NewReader(token + ",admin,1,system:masters\n"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(t.Context(), Config{
			DataDir: t.TempDir(), Storage: StorageConfig{Engine: StorageMemory}, Serving: ServingConfig{SecurePort: AnyPort, HTTPPort: AnyPort},
			Authentication: identity.Config{Authenticators: []request.Authenticator{authn.Bearer(tokens)}}, Authorization: access.Config{Modes: []string{access.AlwaysAllow}},
			Limits: LimitsConfig{RequestTimeout: 30 * time.Second, MinWatch: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		p := &pipes{connectionstest.NewPipes(), connectionstest.NewPipes(), s}
		s.listeners.UseListeners(p.secure, p.Pipes)
		s.listeners.Serve(s.handler)
		f(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.life.drain.Close(ctx); err != nil {
			t.Errorf("requests are left: %v", err)
		}
		if err := s.listeners.Close(ctx); err != nil {
			t.Errorf("connections are left: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowHeaders: the server closes the connection of a client that sends the header of its
// request slowly.
func TestSlowHeaders(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		for name, send := range map[string]string{"nothing": "", "half a line": "GET /ver", "half the headers": "GET /version HTTP/1.1\r\nHost: x\r\nX-A: "} {
			c := p.Dial(send)
			if answer, took := connectionstest.Until(c); took > connections.HeaderTimeout+time.Second {
				t.Errorf("a client that sends %s: got %q after %v, want an end after %v", name, answer, took, connections.HeaderTimeout)
			}
			c.Close()
		}
		for _, protocol := range []string{"none", "http/1.1", "h2"} { // after this handshake, nothing is sent
			c := p.secure.Dial("")
			if protocol != "none" {
				s := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
				if err := s.HandshakeContext(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if _, took := connectionstest.Until(c); took > connections.HeaderTimeout+time.Second {
				t.Errorf("a client that falls silent after a handshake of %s: an end after %v", protocol, took)
			}
			c.Close()
		}
		// A client that sends a line each second is cut off, too.
		c := p.Dial("GET /version HTTP/1.1\r\nHost: x\r\n")
		var trickle sync.WaitGroup
		trickle.Go(func() {
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, "X-%d: y\r\n", i); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		if _, took := connectionstest.Until(c); took > connections.HeaderTimeout+time.Second {
			t.Errorf("a client that sends a header each second: an end after %v", took)
		}
		c.Close()
		trickle.Wait()
	})
}

// TestSlowBody: if the body of a request does not come, the server answers and gives up.
func TestSlowBody(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		for _, length := range []string{"Content-Length: 100", "Content-Length: 1000000", "Transfer-Encoding: chunked"} {
			c := p.Dial("POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n")
			begun := time.Now()
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); resp.StatusCode != http.StatusGatewayTimeout || took > 32*time.Second {
				t.Errorf("%s: got %d after %v, want 504 after 30s", length, resp.StatusCode, took)
			}
			c.Close()
		}
	})
}

// TestUnneededBody: the server does not wait for a body that it does not read, whatever the request
// is.
func TestUnneededBody(t *testing.T) {
	const soon = 3 * time.Second
	overPipes(t, func(t *testing.T, p *pipes) {
		for _, request := range []string{
			"GET /version", "GET /openapi/v2", "GET /none", "POST /version", "GET /api/v1/watch", "GET /version?timeout=x", "DELETE /api/v1/none",
			"POST /api/v1/namespaces/default/pods/p/exec", "GET /api/v1/none?watch=1", "PUT /api/v1/namespaces/default/pods/p/proxy",
			"OPTIONS *",
		} {
			for _, more := range []string{
				"Content-Length: 10\r\n\r\n", "Content-Length: 1000000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
				"Content-Length: 10\r\nAuthorization: Bearer nobody\r\n\r\n", "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n",
				"Content-Length: 10\r\nExpect: more\r\n\r\n",
			} {
				c := p.Dial(request + " HTTP/1.1\r\nHost: x\r\n" + more)
				if answer, took := connectionstest.Until(c); !strings.HasPrefix(answer, "HTTP/1.1 ") || strings.HasPrefix(answer, "HTTP/1.1 100") || took > soon {
					t.Errorf("%s, %q: got %.40q and the end after %v, want both within %v", request, more, answer, took, soon)
				}
				c.Close()
			}
		}
		// If the body comes after the answer, the connection stays open.
		c := p.Dial("GET /version HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
		defer c.Close()
		time.Sleep(time.Second)
		r := bufio.NewReader(c)
		for _, send := range []string{"0123456789", "GET /version HTTP/1.1\r\nHost: x\r\n\r\n"} {
			io.WriteString(c, send)
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("after %q: got %v, %v", send, resp, err)
			}
			io.Copy(io.Discard, resp.Body)
			time.Sleep(time.Minute)
		}
	})
}

// TestStrangersBodies: more strangers send requests without the announced body than refusals may
// run at a time. Those that get no answer lose their connections as soon as those that get one.
func TestStrangersBodies(t *testing.T) {
	const strangers = 400
	overPipes(t, func(t *testing.T, p *pipes) {
		var all sync.WaitGroup
		var answered, late atomic.Int64
		for range strangers {
			all.Go(func() {
				c := p.Dial("GET /api/v1/watch HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
				defer c.Close()
				_ = c.SetReadDeadline(time.Now().Add(time.Minute))
				answer, took := connectionstest.Until(c)
				if strings.HasPrefix(answer, "HTTP/1.1 500 ") {
					answered.Add(1)
				}
				if took > 3*time.Second {
					late.Add(1)
				}
			})
		}
		all.Wait()
		if n := answered.Load(); n == 0 || n == strangers {
			t.Errorf("%d of %d are answered, want some", n, strangers)
		}
		if n := late.Load(); n > 0 {
			t.Errorf("%d of %d are connected for longer than 3 s", n, strangers)
		}
	})
}

// TestWatchWithBody: the end of the time limit for a body is not mistaken for the end of the
// client.
func TestWatchWithBody(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		c := p.Dial("GET /api/v1/namespaces?watch=1&timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
		defer c.Close()
		if answer, took := connectionstest.Until(c); !strings.HasSuffix(answer, "\r\n0\r\n\r\n") && took < 10*time.Minute {
			t.Errorf("got the end after %v: %q", took, answer)
		}
	})
}

// TestSlowReader: the server gives up on a client that does not read its answer.
func TestSlowReader(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		for _, target := range []string{"/openapi/v2", "/api/v1/pods?watch=1&timeoutSeconds=20"} {
			c := p.Dial("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
			time.Sleep(2 * time.Minute)
			answer, _ := connectionstest.Until(c)
			if strings.HasSuffix(answer, "\r\n0\r\n\r\n") {
				t.Errorf("%s: the whole answer was still there after 2 min", target)
			}
			c.Close()
		}
	})
}

// TestUnreadAnswerGivesSeatBack: answers that nobody reads end: those to strangers soon, others
// with the time limit of their request, and watches when an event cannot be sent.
func TestUnreadAnswerGivesSeatBack(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		known      bool
		within     time.Duration
	}{
		{"a stranger's", "/openapi/v2", false, 10 * time.Second},
		{"somebody's", "/openapi/v2", true, 30*time.Second + writeGrace},
		{"a stranger's watch", "/api/v1/namespaces?watch=1", false, time.Minute},
		{"somebody's watch", "/api/v1/namespaces?watch=1", true, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			overPipes(t, func(t *testing.T, p *pipes) {
				credentials := ""
				if tt.known {
					credentials = "Bearer " + token
				}
				c := p.Dial("GET " + tt.path + " HTTP/1.1\r\nHost: x\r\n" + authorizationLine(credentials) + "\r\n")
				defer c.Close()
				f := connectionstest.NewFrames(t, tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), 0)
				defer f.Conn.Close()
				go f.Ignore()
				if credentials == "" {
					f.Send("GET", tt.path, true)
				} else {
					f.Send("GET", tt.path, true, "authorization", credentials)
				}
				synctest.Wait()
				for i := range 4 { // more events than net/http buffers
					body := fmt.Sprintf(`{"metadata":{"name":"n%d","annotations":{"a":"%s"}}}`, i, strings.Repeat("x", 2000))
					w := p.Dial(fmt.Sprintf("POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
						len(body), body))
					resp, err := http.ReadResponse(bufio.NewReader(w), nil)
					if err != nil || resp.StatusCode != http.StatusCreated {
						t.Fatalf("create a namespace: %v %v", resp, err)
					}
					w.Close()
				}
				running := func() int64 {
					short, long := p.server.life.drain.Running()
					return short + long
				}
				if got := running(); got != 2 {
					t.Fatalf("got %d requests running, want 2", got)
				}
				time.Sleep(tt.within + time.Second)
				synctest.Wait()
				if got := running(); got != 0 {
					t.Errorf("after %v %d are still running", tt.within, got)
				}
			})
		})
	}
}

func authorizationLine(token string) string {
	if token == "" {
		return ""
	}
	return "Authorization: " + token + "\r\n"
}

// TestHugeHeaders: a header that is too large is refused with 431.
func TestHugeHeaders(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		for name, send := range map[string]string{
			"one": "X-A: " + strings.Repeat("x", 2<<20), "many": strings.Repeat("X-A: y\r\n", 300_000),
		} {
			c := p.Dial("GET /version HTTP/1.1\r\nHost: x\r\n" + send + "\r\n\r\n")
			if answer, _ := connectionstest.Until(c); !strings.HasPrefix(answer, "HTTP/1.1 431") {
				t.Errorf("%s: got %.60q, want 431", name, answer)
			}
			c.Close()
		}
		c := p.Dial("GET /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if answer, _ := connectionstest.Until(c); !strings.HasPrefix(answer, "HTTP/1.1 4") {
			t.Errorf("a huge path: got %.60q, want 4xx", answer)
		}
		c.Close()
	})
}

// TestIdleWatch keeps watches open for longer than any answer may take, over HTTP/1.1 and HTTP/2,
// with and without events before.
func TestIdleWatch(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		transport := &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return p.Dial(""), nil },
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				c := tls.Client(p.secure.Dial(""), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
				return c, c.HandshakeContext(ctx)
			},
			ForceAttemptHTTP2: true,
		}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for _, scheme := range []string{"http", "https"} {
			resp, err := client.Get(scheme + "://server/api/v1/namespaces?watch=1&timeoutSeconds=3000")
			if err != nil {
				t.Fatal(err)
			}
			if want := map[string]int{"http": 1, "https": 2}[scheme]; resp.ProtoMajor != want {
				t.Errorf("%s: by HTTP/%d, want %d", scheme, resp.ProtoMajor, want)
			}
			lines := bufio.NewScanner(resp.Body)
			for i := range 3 {
				name := fmt.Sprintf("%s-%d", scheme, i)
				post, err := client.Post("http://server/api/v1/namespaces", "application/json", strings.NewReader(`{"metadata":{"name":"`+name+`"}}`))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, post.Body)
				post.Body.Close()
				for lines.Scan() && !strings.Contains(lines.Text(), `"name":"`+name+`"`) {
				}
				if err := lines.Err(); err != nil {
					t.Fatalf("%s: the watch ended before its event %d: %v", scheme, i, err)
				}
				time.Sleep(5 * time.Minute)
			}
			begun := time.Now()
			for lines.Scan() {
			}
			if err := lines.Err(); err != nil || time.Since(begun) < 30*time.Minute {
				t.Errorf("%s: the watch ended after %v with %v, want its end after 50 min", scheme, time.Since(begun), err)
			}
			resp.Body.Close()
		}
	})
}

// TestWatchOverPipes: a watch ends when its client closes the connection.
func TestWatchOverPipes(t *testing.T) {
	overPipes(t, func(t *testing.T, p *pipes) {
		c := p.Dial("GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		c.Close()
	})
}
