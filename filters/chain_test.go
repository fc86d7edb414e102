package filters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tokenFile = `admin-token,admin,1,"system:masters"
alice-token,alice,2,"dev,ops"
`

// fail is an ErrorWriter that writes code, reason and message as text.
func fail(w http.ResponseWriter, _ *http.Request, err error) {
	var s *meta.StatusError
	if !errors.As(err, &s) {
		s = meta.NewInternalError(err)
	}
	if d := s.Status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
	}
	w.WriteHeader(int(s.Status.Code))
	fmt.Fprintf(w, "%s: %s", s.Status.Reason, s.Status.Message)
}

func testConfig(t testing.TB) Config {
	t.Helper()
	tokens, err := authn.ReadTokens(strings.NewReader(tokenFile))
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	return Config{
		Fail:          fail,
		Authenticator: authn.Anonymous(authn.Bearer(tokens)),
		Authorizer: authz.Union(authz.Privileged(request.GroupMasters), authz.Func(func(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
			if a.User.Name == "alice" && (a.Verb == "get" || a.Verb == "list" || a.Verb == "watch") {
				return request.Allow, "", nil
			}
			return request.NoOpinion, "", nil
		})),
		Log:      zap.NewNop(),
		Registry: reg,
		Metrics:  NewMetrics(reg),
		Drain:    NewDrain(),
		Gate:     NewInFlight(Limits{Reads: 400, Writes: 200}, reg),
		Origins:  []*regexp.Regexp{regexp.MustCompile(`^https://ok\.example\.com$`)},
		Settings: Settings{GoawayChance: 0.02},
	}
}

// serve sends one request with a token ("" for none) through c's chain to h.
func serve(c Config, h http.HandlerFunc, token, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Chain(h, c.Steps()...).ServeHTTP(w, r)
	return w
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }

// TestOrder: each step gives the reason for its place, and what the reason says about other steps
// is true.
func TestOrder(t *testing.T) {
	place := map[string]int{}
	steps := testConfig(t).Steps()
	for i, s := range steps {
		if _, twice := place[s.Name]; twice {
			t.Errorf("there are two steps of the name %s", s.Name)
		}
		place[s.Name] = i
	}
	said := regexp.MustCompile(`\b(before|after) ([a-z]+)`)
	for i, s := range steps {
		known := 0
		for _, m := range said.FindAllStringSubmatch(s.Why, -1) {
			other, ok := place[m[2]]
			if !ok {
				t.Errorf("step %s is %s, which is no step", s.Name, m[0])
				continue
			}
			known++
			if (i < other) != (m[1] == "before") {
				t.Errorf("step %s is not %s", s.Name, m[0])
			}
		}
		if known == 0 {
			t.Errorf("step %s does not say before or after which step it stands", s.Name)
		}
	}
}

// TestDefaults: the minimal Config works, with everything optional off.
func TestDefaults(t *testing.T) {
	c := Config{Fail: fail, Authenticator: authn.Anonymous(nil), Authorizer: authz.AlwaysAllow()}
	if w := serve(c, ok, "", "GET", "/api/v1/pods"); w.Code != 200 || w.Body.String() != "ok" {
		t.Errorf("got %d %s, want 200 ok", w.Code, w.Body)
	}
}

func TestWhoMayWhat(t *testing.T) {
	c := testConfig(t)
	for _, tt := range []struct {
		name, token, method, target string
		want                        string // code and body
	}{
		{"admin writes", "admin-token", "POST", "/api/v1/namespaces/n/pods", "200 ok"},
		{"alice reads", "alice-token", "GET", "/api/v1/namespaces/n/pods", "200 ok"},
		{"bad token", "nope", "GET", "/api/v1/namespaces/n/pods", "401 Unauthorized: Unauthorized"},
		{"alice writes", "alice-token", "POST", "/api/v1/namespaces/n/pods",
			`403 Forbidden: pods is forbidden: User "alice" cannot create resource "pods" in API group "" in the namespace "n"`},
		{"name", "alice-token", "DELETE", "/apis/apps/v1/namespaces/n/deployments/d/scale",
			`403 Forbidden: deployments.apps "d" is forbidden: User "alice" cannot delete resource "deployments/scale" in API group "apps" in the namespace "n"`},
		{"cluster scope", "alice-token", "DELETE", "/apis/apps/v1/deployments",
			`403 Forbidden: deployments.apps is forbidden: User "alice" cannot deletecollection resource "deployments" in API group "apps" at the cluster scope`},
		{"namespace", "", "GET", "/api/v1/namespaces/default",
			`403 Forbidden: namespaces "default" is forbidden: User "system:anonymous" cannot get resource "namespaces" in API group "" in the namespace "default"`},
		{"no resource", "", "GET", "/metrics", `403 Forbidden: forbidden: User "system:anonymous" cannot get path "/metrics"`},
		{"markup", "", "GET", "/<b>&", `403 Forbidden: forbidden: User "system:anonymous" cannot get path "/&lt;b&gt;&amp;"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := serve(c, ok, tt.token, tt.method, tt.target)
			if got := fmt.Sprintf("%d %s", w.Code, w.Body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if w.Header().Get("Audit-Id") == "" || w.Header().Get("Cache-Control") != "no-cache, private" {
				t.Errorf("headers: got %v", w.Header())
			}
		})
	}
}

// TestInfo checks what handlers find in the context.
func TestInfo(t *testing.T) {
	w := serve(testConfig(t), func(_ http.ResponseWriter, r *http.Request) {
		i := request.From(r.Context())
		if i.Verb != "get" || i.Resource != "pods" || i.Name != "p" || i.User.Name != "alice" || i.AuditID != "my-id" || i.UserAgent != "agent" {
			t.Errorf("Info: got %+v", i)
		}
		if !i.User.InGroup("dev") || !i.User.InGroup(request.GroupAuthenticated) {
			t.Errorf("groups: got %q", i.User.Groups)
		}
		if _, ok := r.Context().Deadline(); !ok {
			t.Error("context has no deadline")
		}
		if got := r.Header.Get("Authorization"); got != "" {
			t.Errorf("Authorization reached the handler: %q", got)
		}
	}, "alice-token", "GET", "/api/v1/namespaces/n/pods/p", "Audit-ID", "my-id", "User-Agent", "agent")
	if got := w.Header().Get("Audit-ID"); got != "my-id" {
		t.Errorf("Audit-ID: got %q, want my-id", got)
	}
}

func TestBadPath(t *testing.T) {
	w := serve(testConfig(t), ok, "admin-token", "GET", "/api/v1/watch")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestForbiddenReason(t *testing.T) {
	c := testConfig(t)
	c.Authorizer = authz.Union(authz.AlwaysDeny())
	w := serve(c, ok, "alice-token", "GET", "/x")
	if want := `Forbidden: forbidden: User "alice" cannot get path "/x": Everything is forbidden.`; w.Body.String() != want {
		t.Errorf("got %q, want %q", w.Body, want)
	}
	c.Authorizer = authz.Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
		return request.NoOpinion, "", errors.New("no answer")
	})
	if w := serve(c, ok, "alice-token", "GET", "/x"); w.Code != 500 {
		t.Errorf("failed authorization: got %d, want 500", w.Code)
	}
}

// TestRights: a handler may ask about another verb than the request's.
func TestRights(t *testing.T) {
	serve(testConfig(t), func(_ http.ResponseWriter, r *http.Request) {
		rights := request.From(r.Context()).Rights
		if err := rights.May(r.Context(), "list"); err != nil {
			t.Errorf("list: got %v", err)
		}
		err := rights.May(r.Context(), "create")
		if want := `pods "p" is forbidden: User "alice" cannot create resource "pods" in API group "" in the namespace "n"`; err == nil || err.Error() != want {
			t.Errorf("create: got %v, want %s", err, want)
		}
		if info := request.From(r.Context()); !info.Decided || info.Decision != request.Allow { // of the original request
			t.Errorf("what is kept for the record: %v %v", info.Decided, info.Decision)
		}
	}, "alice-token", "GET", "/api/v1/namespaces/n/pods/p")
}

func TestCORS(t *testing.T) {
	c := testConfig(t)
	for _, tt := range []struct {
		method, origin string
		code           int
		allowed        string
	}{
		{"GET", "https://ok.example.com", 200, "https://ok.example.com"},
		{"OPTIONS", "https://ok.example.com", 204, "https://ok.example.com"},
		{"GET", "https://ok.example.com.evil.org", 200, ""},
		{"OPTIONS", "https://evil.org", 403, ""},
	} {
		w := serve(c, ok, "alice-token", tt.method, "/api/v1/pods", "Origin", tt.origin)
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != tt.allowed || w.Code != tt.code {
			t.Errorf("%s from %s: got %d %q, want %d %q", tt.method, tt.origin, w.Code, got, tt.code, tt.allowed)
		}
	}
}

// TestCORSLongOrigin: an Origin longer than any origin is matched with none.
func TestCORSLongOrigin(t *testing.T) {
	c := testConfig(t)
	c.Origins = []*regexp.Regexp{regexp.MustCompile("^https://")}
	for length, allowed := range map[int]bool{maxOrigin: true, maxOrigin + 1: false} {
		origin := "https://" + strings.Repeat("x", length-len("https://"))
		w := serve(c, ok, "alice-token", "GET", "/api/v1/pods", "Origin", origin)
		if got := w.Header().Get("Access-Control-Allow-Origin") == origin; got != allowed || w.Code != 200 {
			t.Errorf("%d bytes: got code %d, allowed: %v, want %v", length, w.Code, got, allowed)
		}
	}
}

// TestNobody: a client that no authenticator knows gets 401. The reason is in the log at level
// debug and not in the response.
func TestNobody(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string // in the log
	}{
		{"no credentials", nil, ""},
		{"bad credentials", errors.New("token has run out"), "token has run out"},
	} {
		core, lines := observer.New(zapcore.DebugLevel)
		c := testConfig(t)
		c.Log = zap.New(core)
		c.Authenticator = authenticate(func(*http.Request) (*request.User, error) { return nil, tt.err })
		w := serve(c, ok, "", "GET", "/api/v1/pods", "Audit-Id", "the-id")
		if w.Code != 401 || w.Body.String() != "Unauthorized: Unauthorized" {
			t.Errorf("%s: got %d %s", tt.name, w.Code, w.Body)
		}
		logged := lines.FilterMessage("request not authenticated").All()
		if len(logged) != 1 || logged[0].ContextMap()["audit-id"] != "the-id" || !strings.Contains(fmt.Sprint(logged[0].ContextMap()["error"]), tt.want) {
			t.Errorf("%s: logged %v", tt.name, logged)
		}
	}
}

func TestHSTS(t *testing.T) {
	c := testConfig(t)
	c.HSTS = []string{"max-age=1", "preload"}
	if got := serve(c, ok, "alice-token", "GET", "/x").Header().Get("Strict-Transport-Security"); got != "max-age=1; preload" {
		t.Errorf("got %q", got)
	}
}
