package filters

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authz"
)

// exit is a way in which a request leaves the chain before its body has been read.
type exit struct {
	step    string // the step that answers the request; "handler" for the handler
	name    string
	config  func(*Config) // nil: no change
	token   string        // "": a stranger's
	request string        // method and target
	headers []string      // names and values
	h       http.HandlerFunc
	code    int           // of the response; 0: it breaks off, or there is none
	within  time.Duration // after which nothing of the request is left; 0: exitTime
}

// exitTime is how long the body of an ended request may take, with a reserve for a busy machine.
const exitTime = restTime + 3*time.Second

// exits are the ways out of each step, at least one for each that may refuse a request. Tests
// of filters add theirs.
var exits []exit

// addExits adds exits to test while variables are set up: var _ = addExits(...).
func addExits(more []exit) bool {
	exits = append(exits, more...)
	return true
}

// Requests that are used by several exits.
const exitGet, exitPost, exitWatch = "GET /api/v1/pods", "POST /api/v1/namespaces/n/pods", "GET /api/v1/pods?watch=1"

// noRefusal uses up the bound on refusals of strangers, so that the server breaks off each further
// one.
func noRefusal(c *Config) {
	c.refusals = new(refusals)
	c.refusals.strangers.Store(maxRefusals)
}

func lift(w http.ResponseWriter) { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }

func flushed(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

func readAll(w http.ResponseWriter, r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	ok(w, r)
}

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func untilEnd(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drainSoon closes the Drain soon after a long-running request has begun.
func drainSoon(c *Config) {
	c.Drain.OnLongRunning = func() { time.AfterFunc(100*time.Millisecond, func() { endDrain(c.Drain) }) }
}

func endDrain(d *Drain) { _ = d.Close(context.Background()) }

var _ = addExits([]exit{
	{step: "info", name: "an invalid path", request: "GET /api/v1/watch", code: 500},
	{step: "info", name: "too many refusals", config: noRefusal, request: "GET /api/v1/watch"},
	{step: "cors", name: "preflight",
		request: "OPTIONS /api/v1/pods", headers: []string{"Origin", "https://ok.example.com"}, code: 204},
	{step: "authenticate", name: "unknown", token: "nobody", request: exitPost, code: 401},
	{step: "authenticate", name: "unknown, too many refusals", config: noRefusal, token: "nobody", request: exitPost},
	{step: "authorize", name: "may not", request: exitPost, code: 403},
	{step: "authorize", name: "may not watch, too many refusals", config: noRefusal, request: exitWatch},

	{step: "handler", name: "no answer", token: "alice-token", request: exitGet, h: func(http.ResponseWriter, *http.Request) {}, code: 200},
	{step: "handler", name: "an answer", token: "alice-token", request: exitGet, h: ok, code: 200},
	{step: "handler", name: "an answer for a stranger",
		config: func(c *Config) { c.Authorizer = authz.AlwaysAllow() }, request: exitPost, h: ok, code: 200},
	{step: "handler", name: "a compressed answer", token: "alice-token", request: exitGet, headers: []string{"Accept-Encoding", "gzip"},
		h: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }, code: 200},
	{step: "handler", name: "some of the body", token: "admin-token", request: exitPost,
		h: func(w http.ResponseWriter, r *http.Request) { _, _ = r.Body.Read(make([]byte, 1)); ok(w, r) }, code: 200},
	{step: "handler", name: "aborts", token: "alice-token", request: exitGet, h: abort},
	{step: "handler", name: "aborts after it has begun", token: "alice-token", request: exitGet,
		h: func(w http.ResponseWriter, r *http.Request) { flushed(w); abort(w, r) }},
	{step: "recover", name: "panics",
		token: "alice-token", request: exitGet, h: func(http.ResponseWriter, *http.Request) { panic("x") }, code: 500},
	{step: "recover", name: "panics after it has begun", token: "alice-token", request: exitGet,
		h: func(w http.ResponseWriter, _ *http.Request) { flushed(w); panic("x") }},
	{step: "recover", name: "panics, too many refusals",
		config: func(c *Config) { noRefusal(c); c.Authorizer = authz.AlwaysAllow() }, request: exitWatch,
		h: func(_ http.ResponseWriter, r *http.Request) { exchangeOf(r).leaveSeats(); panic("x") }},
	{step: "handler", name: "no answer, no deadline",
		token: "alice-token", request: exitWatch, h: func(w http.ResponseWriter, _ *http.Request) { lift(w) }, code: 200},
	{step: "handler", name: "aborts without a deadline", token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, r *http.Request) { lift(w); abort(w, r) }},
	{step: "recover", name: "panics without a deadline", token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, _ *http.Request) { lift(w); panic("x") }, code: 500},
	{step: "handler", name: "lasts until the end of the server", config: drainSoon, token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, r *http.Request) { lift(w); untilEnd(w, r) }, code: 200},
	{step: "handler", name: "answers without a deadline until the end of the server",
		config: drainSoon, token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, r *http.Request) { lift(w); flushed(w); untilEnd(w, r) }, code: 200},
	{step: "handler", name: "reads without a deadline until the end of the server",
		config: drainSoon, token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, r *http.Request) { lift(w); readAll(w, r) }, code: 200},
	{step: "handler", name: "answers until the end of the server", config: drainSoon, token: "alice-token", request: exitWatch,
		h: func(w http.ResponseWriter, r *http.Request) { flushed(w); untilEnd(w, r) }, code: 200},
	{step: "handler", name: "waits for a stranger's body",
		config: func(c *Config) { c.Authorizer = authz.AlwaysAllow() }, request: exitPost,
		h: readAll, code: 200, within: strangerTime + exitTime},
	{step: "handler", name: "waits for a body",
		config: func(c *Config) { c.RequestTimeout = time.Second }, token: "admin-token", request: exitPost,
		h: readAll, code: 200, within: time.Second + bodyGrace + exitTime},
})

// TestExits: whichever way a request leaves the chain, the server does not wait long for its body,
// which the client announces and begins, but never completes.
func TestExits(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	left := map[string]bool{}
	for _, e := range exits {
		left[e.step] = true
		// All exits run at once, because they mostly wait.
		all.Go(func() { t.Run(e.step+", "+e.name+", by HTTP/1.1", e.by1) })
		all.Go(func() { t.Run(e.step+", "+e.name+", by HTTP/2", e.by2) })
	}
	all.Wait()
	for _, step := range refusingSteps(t) {
		if !left[step] {
			t.Errorf("no exit at step %s is tested", step)
		}
	}
}

// refusingSteps returns the names of the steps whose filters are given fail in chain.go.
func refusingSteps(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "chain.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	ast.Inspect(file, func(n ast.Node) bool {
		step, ok := n.(*ast.CompositeLit)
		if !ok || step.Type != nil || len(step.Elts) != 3 {
			return true
		}
		made, ok := step.Elts[2].(*ast.CallExpr)
		if ok && slices.ContainsFunc(made.Args, func(arg ast.Expr) bool { id, ok := arg.(*ast.Ident); return ok && id.Name == "fail" }) {
			steps = append(steps, strings.Trim(step.Elts[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	if len(steps) < 9 {
		t.Errorf("only the steps %q refuse requests", steps)
	}
	return steps
}

// serve serves e's requests with TLS. running counts those that are being served.
func (e *exit) serve(t *testing.T) (s *httptest.Server, running *atomic.Int64) {
	c := testConfig(t)
	c.GoawayChance = 0
	if e.config != nil {
		e.config(&c)
	}
	h := e.h
	if h == nil {
		h = func(http.ResponseWriter, *http.Request) { t.Error("the request reaches the handler") }
	}
	chain := Chain(h, c.Steps()...)
	running = new(atomic.Int64)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		chain.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, running
}

// time returns how long the whole request may take.
func (e *exit) time() time.Duration {
	if e.within == 0 {
		return exitTime
	}
	return e.within
}

// by1 checks the end of the connection, with HTTP/1.1.
func (e *exit) by1(t *testing.T) {
	s, _ := e.serve(t)
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(e.time()))
	var head strings.Builder
	fmt.Fprintf(&head, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n", e.request)
	for i := 0; i < len(e.headers); i += 2 {
		fmt.Fprintf(&head, "%s: %s\r\n", e.headers[i], e.headers[i+1])
	}
	if e.token != "" {
		fmt.Fprintf(&head, "Authorization: Bearer %s\r\n", e.token)
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n0"); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	code := 0
	if resp, err := http.ReadResponse(answer, nil); err == nil {
		code = resp.StatusCode
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			code = 0
		}
	}
	if code != e.code {
		t.Errorf("got %d, want %d", code, e.code)
	}
	if _, err := io.Copy(io.Discard, answer); isTimeout(err) {
		t.Errorf("the connection is open after %v", e.time())
	}
}

// by2 checks the end of the stream and of the handler, with HTTP/2.
func (e *exit) by2(t *testing.T) {
	s, running := e.serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), e.time())
	defer cancel()
	method, target, _ := strings.Cut(e.request, " ")
	body := &stallingBody{gone: make(chan struct{})}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 10
	for i := 0; i < len(e.headers); i += 2 {
		r.Header.Set(e.headers[i], e.headers[i+1])
	}
	if e.token != "" {
		r.Header.Set("Authorization", "Bearer "+e.token)
	}
	code := 0
	if resp, err := s.Client().Do(r); err == nil {
		code = resp.StatusCode
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			code = 0
		}
		resp.Body.Close()
		if resp.ProtoMajor != 2 {
			t.Errorf("the answer is in %s", resp.Proto)
		}
	}
	if ctx.Err() != nil {
		t.Errorf("no end after %v", e.time())
	} else if code != e.code {
		t.Errorf("got %d, want %d", code, e.code)
	}
	select {
	case <-body.gone:
	case <-ctx.Done():
		t.Errorf("the body is waited for after %v", e.time())
	}
	for running.Load() > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if n := running.Load(); n > 0 {
		t.Errorf("%d requests are left", n)
	}
}

func isTimeout(err error) bool {
	var slow interface{ Timeout() bool }
	return errors.As(err, &slow) && slow.Timeout()
}

// stallingBody is a body that begins and then blocks until it is closed.
type stallingBody struct {
	begun bool
	gone  chan struct{}
	over  atomic.Bool
}

// Read implements io.Reader.
func (b *stallingBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		p[0] = '0'
		return 1, nil
	}
	<-b.gone
	return 0, io.ErrUnexpectedEOF
}

// Close implements io.Closer. The client calls it when the server has ended the stream.
func (b *stallingBody) Close() error {
	if b.over.CompareAndSwap(false, true) {
		close(b.gone)
	}
	return nil
}
