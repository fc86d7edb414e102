package callout

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn/pkitest"
)

// TestSpread: with HTTP/1.1, concurrent calls of a service or of another machine have a connection
// each, which is kept. With HTTP/2, calls of this machine share a connection.
func TestSpread(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	for _, tt := range []struct {
		name  string
		url   string // without a port; "": the target is a service
		proto string
	}{
		{"a service", "", "HTTP/1.1"},
		{"a host", "https://hook.example.com", "HTTP/1.1"},
		{"localhost", "https://localhost", "HTTP/2.0"},
		{"an address of this machine", "https://127.0.0.1", "HTTP/2.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both := make(chan struct{})
			hook := serve(t, ca, true, func(w http.ResponseWriter, r *http.Request) {
				select { // two calls meet here
				case both <- struct{}{}:
				case <-both:
				case <-r.Context().Done():
				}
				fmt.Fprint(w, r.Proto)
			}, "mine.team.svc", "localhost", "hook.example.com")
			address := hook.Listener.Addr().String()
			_, port, _ := net.SplitHostPort(address)
			target := Target{URL: tt.url + ":" + port, CABundle: ca.CertPEM}
			if tt.url == "" {
				target.URL, target.Service = "", &Service{Namespace: "team", Name: "mine"}
			}
			local := func(context.Context, Service) (string, error) { return address, nil }
			c := client(t, Config{Target: target, Resolve: local, Spread: true})
			if tt.url != "" { // no host needs to be in DNS
				c.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, address)
				}
			}
			for range 3 {
				got := make(chan string, 2)
				for range 2 {
					go func() {
						answer, err := c.Post(t.Context(), []byte("{}"))
						got <- fmt.Sprint(string(answer), err)
					}()
				}
				for range 2 {
					if one := <-got; one != tt.proto+"<nil>" {
						t.Errorf("got %s, want %s", one, tt.proto)
					}
				}
			}
			// With HTTP/2, each of the first two calls may have made a connection.
			if conns := hook.conns.Load(); conns != 2 && (conns != 1 || tt.proto == "HTTP/1.1") {
				t.Errorf("got %d connections", conns)
			}
		})
	}
}

// TestPool: equal webhooks share a client until the last user has released it.
func TestPool(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, false, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL, r.Header.Get("Authorization"))
	})
	users := &Users{byName: map[string]*Target{"127.0.0.1:" + strings.SplitN(hook.URL, ":", 3)[2]: {
		Authorize: func(h http.Header) error { h.Set("Authorization", "Bearer x"); return nil }}}}
	p := NewPool(Config{Name: "hooks", TellTimeout: true}, users)
	defer p.Close()
	open := func(w Webhook) (*Client, func()) {
		t.Helper()
		c, release, err := p.Open(w)
		if err != nil {
			t.Fatal(err)
		}
		return c, release
	}
	a, releaseA := open(Webhook{URL: hook.URL + "/a//b/", CABundle: ca.CertPEM})
	b, releaseB := open(Webhook{URL: hook.URL + "/a//b/", CABundle: ca.CertPEM})
	other, releaseOther := open(Webhook{URL: hook.URL, CABundle: ca.CertPEM})
	if a != b || a == other {
		t.Error("the clients of equal webhooks differ, or those of others do not")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second+time.Second/2)
	defer cancel()
	if answer, err := a.Post(ctx, nil); string(answer) != "/a/b?timeout=9sBearer x" {
		t.Errorf("got %s, %v", answer, err)
	}
	if answer, err := other.Post(t.Context(), nil); string(answer) != "/?timeout=30sBearer x" {
		t.Errorf("got %s, %v", answer, err)
	}
	releaseA()
	releaseA()
	releaseOther()
	if len(p.open) != 1 {
		t.Errorf("%d clients are open, want one", len(p.open))
	}
	releaseB()
	for range 2 {
		select {
		case <-hook.closed:
		case <-time.After(10 * time.Second):
			t.Fatal("a connection of a released client stays open")
		}
	}
	for _, w := range []Webhook{{}, {URL: "http://example.com"}, {URL: hook.URL, CABundle: []byte("none")},
		{Service: &Service{Name: "no namespace"}}} {
		if _, release, err := p.Open(w); err == nil || release == nil || strings.Contains(err.Error(), "hooks") {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// TestUsers: the name of a user says for which hosts its credentials are.
func TestUsers(t *testing.T) {
	cert, key := pkitest.Files(t, pkitest.NewAuthority(t, "ca").Client("me"))
	file := pkitest.Write(t, filepath.Join(t.TempDir(), "users"), []byte(`
current-context: c
contexts: [{name: c, context: {cluster: none, user: current}}]
users:
- {name: 'hook.example.com:8443', user: {token: port}}
- {name: hook.example.com, user: {token: host}}
- {name: '*.example.com', user: {token: suffix}}
- {name: '*.team.svc', user: {client-certificate: `+cert+`, client-key: `+key+`}}
- {name: current, user: {username: me, password: it}}
`))
	u, err := ReadUsers(file)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"hook.example.com:8443": "Bearer port", "hook.example.com:443": "Bearer host", "hook.example.com:444": "Basic bWU6aXQ=",
		"a.b.example.com:443": "Bearer suffix", "example.com:443": "Basic bWU6aXQ=", "[::1]:443": "Basic bWU6aXQ=",
	} {
		h := http.Header{}
		if to := u.of(host); to == nil || to.Authorize(h) != nil || h.Get("Authorization") != want {
			t.Errorf("%s: got %v, want %s", host, h, want)
		}
	}
	var shown *tls.Certificate
	if to := u.of("mine.team.svc:443"); to.Certificate != nil {
		shown, err = to.Certificate()
	}
	if shown == nil || err != nil {
		t.Errorf("a certificate: %v, %v", shown, err)
	}
	u.byName["*"] = &Target{}
	if u.of("other:443") != u.byName["*"] || (*Users)(nil).of("other:443") != nil || (&Users{}).of("other:443") != nil {
		t.Error("* is not for all others, or there is a user without a file")
	}
	for _, text := range []string{"", "users: [{name: a, user: {exec: {}}}]", "users: [{name: a, user: {tokenFile: none}}]"} {
		if _, err := ReadUsers(pkitest.Write(t, filepath.Join(t.TempDir(), "bad"), []byte(text))); (err == nil) != (text == "") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestRetryAsked: with Asked, a call is tried again only if the response asks for it.
func TestRetryAsked(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/asks" {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(http.StatusTooManyRequests)
	})
	for path, want := range map[string]int64{"/asks": 2, "/": 1} {
		c := client(t, Config{Target: Target{URL: hook.URL + path, CABundle: ca.CertPEM}, Retry: Retry{Tries: 2, Asked: true}})
		before := hook.calls.Load()
		if _, err := c.Post(t.Context(), nil); KindOf(err) != Refused {
			t.Errorf("%s: %v", path, err)
		}
		if got := hook.calls.Load() - before; got != want {
			t.Errorf("%s: got %d calls, want %d", path, got, want)
		}
	}
}

// TestMoved: a call follows a redirect if the redirect stays on the host and keeps the body.
func TestMoved(t *testing.T) {
	ca := pkitest.NewAuthority(t, "ca")
	hook := serve(t, ca, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/there?timeout=1s", http.StatusPermanentRedirect)
		case "/get":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		case "/elsewhere":
			http.Redirect(w, r, "https://localhost/there", http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, r.URL, string(body))
		}
	})
	for path, want := range map[string]string{
		"/moved": "POST/there?timeout=1s{}<nil>", "/get": "302", "/round": "307", "/elsewhere": "307",
	} {
		before := hook.calls.Load()
		answer, err := client(t, Config{Target: Target{URL: hook.URL + path, CABundle: ca.CertPEM}}).Post(t.Context(), []byte("{}"))
		if got := fmt.Sprint(string(answer), err); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
		if calls := hook.calls.Load() - before; path == "/round" && calls != 1+maxRedirects {
			t.Errorf("%s: got %d calls", path, calls)
		}
	}
}
