package callout

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

type review struct {
	Question string `json:"question"`
	Answer   string `json:"answer,omitempty"`
}

func TestCall(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.String() + " " + r.Header.Get("Content-Type"); got != "POST /path application/json" {
			t.Errorf("request: got %s", got)
		}
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"question":"why"}` {
			t.Errorf("body: got %s", body)
		}
		w.WriteHeader(http.StatusCreated) // all of 2xx are good
		io.WriteString(w, `{"question":"why","answer":"because"}`)
	})
	c := client(t, Config{Target: Target{URL: hook.URL + "/path", CABundle: ca.CertPEM}})
	var got review
	if err := c.Call(t.Context(), review{Question: "why"}, &got); err != nil || got.Answer != "because" {
		t.Errorf("Call: got %+v, %v", got, err)
	}
	if err := c.Call(t.Context(), review{Question: "why"}, nil); err != nil {
		t.Errorf("Call without interest in the answer: %v", err)
	}
	if err := c.Call(t.Context(), func() {}, nil); err == nil || KindOf(err) != OK {
		t.Errorf("Call with what has no JSON: got %v", err)
	}
	answer, err := c.Post(t.Context(), []byte(`{"question":"why"}`))
	if err != nil || string(answer) != `{"question":"why","answer":"because"}` {
		t.Errorf("Post: got %s, %v", answer, err)
	}
}

func TestCertificates(t *testing.T) {
	ca, other := pkitest.NewAuthority(t, "ca"), pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, echo, "mine.team.svc")
	_, port, _ := net.SplitHostPort(hook.Listener.Addr().String())
	local := func(context.Context, Service) (string, error) { return hook.Listener.Addr().String(), nil }
	for _, tt := range []struct {
		name   string
		target Target
		want   Kind
	}{
		{"right", Target{URL: hook.URL, CABundle: ca.CertPEM}, OK},
		{"among others", Target{URL: hook.URL, CABundle: append(bytes.Clone(other.CertPEM), ca.CertPEM...)}, OK},
		{"of a stranger", Target{URL: hook.URL, CABundle: other.CertPEM}, Unreachable},
		{"not the system's", Target{URL: hook.URL}, Unreachable},
		{"not looked at", Target{URL: hook.URL, Insecure: true}, OK},
		{"other name", Target{URL: "https://localhost:" + port, CABundle: ca.CertPEM}, Unreachable},
		{"name given", Target{URL: "https://localhost:" + port, CABundle: ca.CertPEM, ServerName: "mine.team.svc"}, OK},
		{"service", Target{Service: &Service{Namespace: "team", Name: "mine"}, CABundle: ca.CertPEM}, OK},
		{"other service", Target{Service: &Service{Namespace: "team", Name: "yours"}, CABundle: ca.CertPEM}, Unreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := hook.conns.Load()
			c := client(t, Config{Target: tt.target, Resolve: local, Retry: Retry{Tries: 3, Pause: time.Minute}})
			_, err := c.Post(t.Context(), []byte("{}"))
			if KindOf(err) != tt.want || (err == nil) != (tt.want == OK) {
				t.Errorf("got %v, want kind %v", err, tt.want)
			}
			if got := hook.conns.Load() - before; got != 1 {
				t.Errorf("connections: got %d, want 1: a bad certificate is not tried again", got)
			}
		})
	}
}

func TestService(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.URL.Path) }, "mine.team.svc")
	var asked Service
	resolve := func(_ context.Context, s Service) (string, error) {
		asked = s
		return hook.Listener.Addr().String(), nil
	}
	for _, tt := range []struct {
		service Service
		want    string
	}{
		{Service{Namespace: "team", Name: "mine"}, "mine.team.svc:443/"},
		{Service{Namespace: "team", Name: "mine", Port: 8443, Path: "/convert"}, "mine.team.svc:8443/convert"},
	} {
		c := client(t, Config{Target: Target{Service: &tt.service, CABundle: ca.CertPEM}, Resolve: resolve})
		got, err := c.Post(t.Context(), nil)
		if err != nil || string(got) != tt.want || asked != tt.service {
			t.Errorf("%+v: got %q, %v, asked for %+v, want %q", tt.service, got, err, asked, tt.want)
		}
	}
	missing := errors.New("no endpoints")
	c := client(t, Config{Target: Target{Service: &Service{Namespace: "team", Name: "mine"}},
		Resolve: func(context.Context, Service) (string, error) { return "", missing }})
	if _, err := c.Post(t.Context(), nil); !errors.Is(err, Unreachable) || !errors.Is(err, missing) {
		t.Errorf("without endpoints: got %v", err)
	}
}

func TestFailures(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	elsewhere := serve(t, ca, true, echo)
	free := make(chan struct{}) // ends the handlers that keep their clients waiting
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404", "/500":
			w.Header().Set("Retry-After", "7")
			var code int
			fmt.Sscanf(r.URL.Path, "/%d", &code)
			http.Error(w, "inside information", code)
		case "/redirect":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/small":
			fmt.Fprintf(w, `{"answer":%q}`, strings.Repeat("x", 87)) // 100 bytes
		case "/large":
			fmt.Fprintf(w, `{"answer":%q}`, strings.Repeat("x", 88))
		case "/endless":
			for r.Context().Err() == nil {
				w.Write(make([]byte, 1<<16))
			}
		case "/text":
			io.WriteString(w, "inside information")
		case "/empty":
		case "/type":
			io.WriteString(w, `{"answer":7}`)
		case "/slow":
			<-free
		case "/slowly":
			io.WriteString(w, `{"answer":`)
			w.(http.Flusher).Flush()
			<-free
		case "/cut":
			io.WriteString(w, `{"answer":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	defer close(free)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tt := range []struct {
		url, text string // part of the error
		want      Kind
	}{
		{hook.URL + "/small", "", OK},
		{hook.URL + "/404", "refused: HTTP status 404 Not Found", Refused},
		{hook.URL + "/500", "refused: HTTP status 500 Internal Server Error", Refused},
		{hook.URL + "/redirect", "refused: HTTP status 307 Temporary Redirect", Refused},
		{hook.URL + "/large", "malformed: the response is larger than 100 bytes", Malformed},
		{hook.URL + "/endless", "malformed: the response is larger than 100 bytes", Malformed},
		{hook.URL + "/text", "malformed: invalid character 'i'", Malformed},
		{hook.URL + "/empty", "malformed: unexpected end of JSON input", Malformed},
		{hook.URL + "/type", "malformed: json: cannot unmarshal number", Malformed},
		{hook.URL + "/slow", "timeout: context deadline exceeded", TimedOut},
		{hook.URL + "/slowly", "timeout: context deadline exceeded", TimedOut},
		{hook.URL + "/cut", "unreachable: ", Unreachable},
		{"https://" + closed.Addr().String(), "unreachable: dial tcp", Unreachable},
		{"https://name.invalid", "unreachable: ", Unreachable},
	} {
		t.Run(tt.url[strings.LastIndexByte(tt.url, '/')+1:], func(t *testing.T) {
			cfg := Config{Target: Target{URL: tt.url, CABundle: ca.CertPEM}, MaxAnswer: 100}
			if tt.want == TimedOut {
				cfg.Timeout = 50 * time.Millisecond
			}
			err := client(t, cfg).Call(t.Context(), review{}, new(review))
			if tt.want == OK {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if !errors.Is(err, tt.want) || KindOf(err) != tt.want || !strings.Contains(err.Error(), tt.text) || !strings.HasPrefix(err.Error(), `callout "hook" to https://`) {
				t.Errorf("got %v, want kind %v and %q", err, tt.want, tt.text)
			}
			if strings.Contains(err.Error(), "inside") {
				t.Errorf("the error shows the answer: %v", err)
			}
			var e *Error
			if errors.As(err, &e); tt.url == hook.URL+"/500" && (e.Status != 500 || e.RetryAfter != 7*time.Second) {
				t.Errorf("got status %d and a wait of %v", e.Status, e.RetryAfter)
			}
		})
	}
	if got := elsewhere.calls.Load(); got != 0 {
		t.Errorf("the redirect was followed %d times", got)
	}
}

// TestNoHTTP calls a server that speaks TLS but not HTTP: the error does not quote what it sends.
func TestNoHTTP(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, false, echo)
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, says := range []string{
		"220 inside ready\r\n", "HTTP/inside 200 OK\r\n\r\n", ok + "inside\r\n\r\n", ok + "Content-Length: inside\r\n\r\n",
		ok + "Transfer-Encoding: inside\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\ninside\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n0\r\ninside\r\n\r\n",
	} {
		l, err := tls.Listen("tcp", "127.0.0.1:0", hook.TLS)
		if err != nil {
			t.Fatal(err)
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Read(make([]byte, 1<<10))
			io.WriteString(conn, says)
		})
		_, err = client(t, Config{Target: Target{URL: "https://" + l.Addr().String(), CABundle: ca.CertPEM}}).Post(t.Context(), nil)
		if KindOf(err) != Unreachable || strings.Contains(err.Error(), "inside") {
			t.Errorf("%q: got %v", says, err)
		}
		l.Close()
		serving.Wait()
	}
}

// quotingDecoder is a type with a decoder that quotes what it is given.
type quotingDecoder struct{}

func (*quotingDecoder) UnmarshalJSON(data []byte) error { return fmt.Errorf("what is %s?", data) }

// TestUnreadable: an error does not quote a value that cannot be decoded.
func TestUnreadable(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"n":123456,"s":"123456"}`) })
	c := client(t, Config{Target: Target{URL: hook.URL, CABundle: ca.CertPEM}})
	for name, out := range map[string]any{
		"number": &struct{ N int8 }{}, "time": &struct{ S time.Time }{}, "decoder": &struct{ S quotingDecoder }{},
	} {
		if err := c.Call(t.Context(), nil, out); KindOf(err) != Malformed || strings.Contains(err.Error(), "123456") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	arrived, free := make(chan struct{}), make(chan struct{})
	hook := serve(t, ca, true, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-free
	})
	defer close(free)
	c := client(t, Config{Target: Target{URL: hook.URL, CABundle: ca.CertPEM}, Retry: Retry{Tries: 5}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := c.Post(ctx, nil); !errors.Is(err, Canceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHooks(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != "again" {
			t.Errorf("body: got %q", body)
		}
		if r.Header.Get("Authorization") == "" {
			t.Error("no credentials")
		}
		if _, err := w.Write(nil); err != nil {
			t.Error(err)
		}
	})
	var mu sync.Mutex
	var got []string
	fails := 2 // tries for which Authorize fails
	c := client(t, Config{
		Name: "flaky",
		Target: Target{URL: hook.URL, CABundle: ca.CertPEM, Authorize: func(h http.Header) error {
			if fails--; fails >= 0 {
				return errors.New("not yet")
			}
			h.Set("Authorization", "Bearer t")
			return nil
		}},
		Retry: Retry{Tries: 5, Pause: time.Millisecond},
		Hooks: Hooks{Tried: func(name string, kind Kind, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			if took <= 0 {
				t.Errorf("took %v", took)
			}
			got = append(got, name+" "+kind.Error())
		}},
	})
	if _, err := c.Post(t.Context(), []byte("again")); err != nil {
		t.Error(err)
	}
	if want := "flaky unreachable,flaky unreachable,flaky ok"; strings.Join(got, ",") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReuse: a connection is kept even if a response is an error or is not read.
func TestReuse(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	for _, http2 := range []bool{false, true} {
		hook := serve(t, ca, http2, func(w http.ResponseWriter, r *http.Request) {
			if want := map[bool]int{false: 1, true: 2}[http2]; r.ProtoMajor != want {
				t.Errorf("HTTP/%d, want %d", r.ProtoMajor, want)
			}
			if r.ContentLength > 1 {
				http.Error(w, strings.Repeat("no ", 1000), 400)
			}
			echo(w, r)
		})
		c := client(t, Config{Target: Target{URL: hook.URL, CABundle: ca.CertPEM}})
		for i := range 20 {
			if _, err := c.Post(t.Context(), make([]byte, i%3)); (err != nil) != (i%3 == 2) {
				t.Fatal(err)
			}
		}
		if got := hook.conns.Load(); got != 1 {
			t.Errorf("http2=%v: %d connections for 20 calls, want 1", http2, got)
		}
	}
}

// TestIdleConnectionsAreBounded: many concurrent callers leave a bounded number of idle
// connections.
func TestIdleConnectionsAreBounded(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	var wg, all sync.WaitGroup
	const callers = 3 * maxIdle
	all.Add(callers)
	hook := serve(t, ca, false, func(w http.ResponseWriter, _ *http.Request) {
		all.Done()
		all.Wait() // so that each call needs a connection of its own
	})
	c := client(t, Config{Target: Target{URL: hook.URL, CABundle: ca.CertPEM}})
	for range callers {
		wg.Go(func() {
			if _, err := c.Post(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range callers - maxIdle {
		select {
		case <-hook.closed:
		case <-time.After(10 * time.Second):
			t.Fatal("more connections are kept than may be")
		}
	}
}

func TestRoundTrip(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	next := make(chan string)
	hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s\n", r.Method, r.URL, r.Header.Get("Authorization"))
		w.(http.Flusher).Flush()
		fmt.Fprintln(w, <-next)
	})
	c := client(t, Config{Timeout: time.Nanosecond, MaxAnswer: 1, Target: Target{URL: hook.URL + "/ignored", CABundle: ca.CertPEM,
		Authorize: func(h http.Header) error { h.Set("Authorization", "Bearer mine"); return nil }}})
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://other/apis/g/v1?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer users")
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line := make([]byte, 100)
	n, err := resp.Body.Read(line)
	if got, want := string(line[:n]), "GET /apis/g/v1?watch=1 Bearer mine\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	next <- "later"
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "later\n" {
		t.Errorf("the rest: got %q, %v", rest, err)
	}
	if r.URL.Host != "other" || r.Header.Get("Authorization") != "Bearer users" {
		t.Error("the caller's request was changed")
	}
}
