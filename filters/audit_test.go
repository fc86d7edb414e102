package filters

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
)

var _ = addExits([]exit{{step: "audit", name: "not stored", token: "admin-token", request: exitPost, code: 500, config: func(c *Config) {
	policy, err := audit.ParsePolicy([]byte(auditPolicy + "- level: Metadata"))
	if err != nil {
		panic(err)
	}
	s := &events{full: true}
	c.Auditing = &Auditing{Policy: policy, Sink: s, Counts: s}
}}})

// auditPolicy is how a policy begins, before its rules.
const auditPolicy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n"

// events is a Sink and counts. Its zero value stores every event.
type events struct {
	full bool // nothing is stored

	mu       sync.Mutex
	list     []*audit.Event
	levels   []audit.Level
	made     int
	rejected int
}

func (s *events) Process(e *audit.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, e)
	return !s.full
}
func (s *events) Level(l audit.Level) { s.count(func() { s.levels = append(s.levels, l) }) }
func (s *events) Event()              { s.count(func() { s.made++ }) }
func (s *events) Rejected()           { s.count(func() { s.rejected++ }) }

func (s *events) count(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// told describes each event: stage, code, message.
func (s *events) told() []string {
	var out []string
	for _, e := range s.list {
		text := e.Stage.String()
		if e.Status != nil {
			text += fmt.Sprint(" ", e.Status.Code, " ", e.Status.Message)
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}

// auditing returns an Auditing with a policy of rules in YAML, and its Sink.
func auditing(t testing.TB, rules string) (*Auditing, *events) {
	t.Helper()
	policy, err := audit.ParsePolicy([]byte(auditPolicy + rules))
	if err != nil {
		t.Fatal(err)
	}
	s := &events{}
	return &Auditing{Policy: policy, Sink: s, Counts: s}, s
}

// TestAuditStages: a request has an event at each stage that it reaches.
func TestAuditStages(t *testing.T) {
	const pod, pods = "/api/v1/namespaces/n/pods/p", "/api/v1/namespaces/n/pods"
	for _, tt := range []struct {
		name, rule, token, method, path string
		handler                         http.HandlerFunc
		code                            int
		want                            []string
	}{
		{name: "short", path: pod, handler: ok, code: 200, want: []string{"RequestReceived", "ResponseComplete 200"}},
		{name: "watch", path: pods + "?watch=1", handler: ok, code: 200, want: []string{"RequestReceived", "ResponseStarted 200", "ResponseComplete 200"}},
		{name: "nothing is written", path: pod, handler: func(http.ResponseWriter, *http.Request) {}, code: 200,
			want: []string{"RequestReceived", "ResponseComplete 200 Connection closed early"}},
		{name: "nothing is written to a watch", path: pods + "?watch=1", handler: func(http.ResponseWriter, *http.Request) {}, code: 200,
			want: []string{"RequestReceived", "ResponseStarted 200 Connection closed early", "ResponseComplete 200 Connection closed early"}},
		{name: "panic", path: pod, handler: func(http.ResponseWriter, *http.Request) { panic("broken") }, code: 500,
			want: []string{"RequestReceived", "Panic 500 APIServer panic'd: broken"}},
		{name: "panic of a watch", path: pods + "?watch=1", handler: func(http.ResponseWriter, *http.Request) { panic("broken") }, code: 500,
			want: []string{"RequestReceived", "Panic 500 APIServer panic'd: broken"}},
		{name: "forbidden", method: "DELETE", path: pod, handler: ok, code: 403, want: []string{"RequestReceived", "ResponseComplete 403"}},
		{name: "unauthenticated", token: "wrong", path: pod, handler: ok, code: 401, want: []string{"ResponseStarted 401"}},
		{name: "none", rule: "{level: None}", path: pod, handler: ok, code: 200},
		{name: "omitted stages", rule: "{level: Metadata, omitStages: [RequestReceived, ResponseStarted]}", path: pods + "?watch=1", handler: ok, code: 200,
			want: []string{"ResponseComplete 200"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.rule == "" {
				tt.rule = "{level: Metadata}"
			}
			c := testConfig(t)
			a, s := auditing(t, "- "+tt.rule)
			c.Auditing = a
			token, method := "alice-token", "GET"
			if tt.token != "" {
				token = tt.token
			}
			if tt.method != "" {
				method = tt.method
			}
			if w := serve(c, tt.handler, token, method, tt.path); w.Code != tt.code {
				t.Errorf("got code %d, want %d", w.Code, tt.code)
			}
			if got := s.told(); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if s.made != len(tt.want) || len(s.levels) != 1 {
				t.Errorf("counted %d events, levels %v", s.made, s.levels)
			}
		})
	}
}

// TestAuditMetadata: an event tells who asked for what, and what admission and authorization said.
func TestAuditMetadata(t *testing.T) {
	c := testConfig(t)
	a, s := auditing(t, "- {level: Metadata}")
	c.Auditing = a
	serve(c, func(w http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		info.Annotate("a.example.com/x", "1")
		info.AnnotateRequest("a.example.com/body", "secret")
		info.Record.Object = request.ObjectName{Name: "other", UID: "u", ResourceVersion: "9"}
		ok(w, r)
	}, "alice-token", "GET", "/apis/apps/v1/namespaces/n/deployments/d/status?pretty=1", "User-Agent", strings.Repeat("a", 2000), "Audit-Id", "id",
		"X-Forwarded-For", "10.0.0.01, nonsense,fe80::1%eth0,2001:DB8::1", "X-Real-Ip", "10.0.0.1")
	if len(s.list) != 2 {
		t.Fatalf("got %q", s.told())
	}
	first, last := s.list[0], s.list[1]
	if want := []string{"10.0.0.1", "2001:db8::1", "192.0.2.1"}; !slices.Equal(last.SourceIPs, want) {
		t.Errorf("got %q, want %q", last.SourceIPs, want)
	}
	if last.UserAgent != strings.Repeat("a", 1024)+"...TRUNCATED" {
		t.Errorf("got the user agent %q", last.UserAgent)
	}
	if last.AuditID != "id" || last.Verb != "get" || last.User.Name != "alice" || last.Impersonated != nil ||
		last.RequestURI != "/apis/apps/v1/namespaces/n/deployments/d/status?pretty=1" {
		t.Errorf("got %+v", last)
	}
	object := audit.Reference{Resource: "deployments", Namespace: "n", Name: "d", APIGroup: "apps", APIVersion: "v1", Subresource: "status"}
	if *first.Object != object {
		t.Errorf("at first: got %+v", first.Object)
	}
	if object.UID, object.ResourceVersion = "u", "9"; *last.Object != object {
		t.Errorf("at last: got %+v", last.Object)
	}
	if len(first.Annotations) != 0 || !first.Time.Equal(first.Received) {
		t.Errorf("at first: got %+v", first)
	}
	if got := fmt.Sprint(last.Annotations); got != "map[a.example.com/x:1 authorization.k8s.io/decision:allow authorization.k8s.io/reason:]" {
		t.Errorf("got %s", got)
	}
}

// TestAuditBodies: the level decides about bodies, and about annotations that show parts of them.
func TestAuditBodies(t *testing.T) {
	for level, want := range map[string]string{"Metadata": " ", "Request": `{"sent":1} `, "RequestResponse": `{"sent":1} {"got":1}`} {
		c := testConfig(t)
		a, s := auditing(t, "- {level: "+level+", omitManagedFields: true}")
		c.Auditing = a
		serve(c, func(w http.ResponseWriter, r *http.Request) {
			info := request.From(r.Context())
			info.AnnotateRequest("body", "x")
			if !info.Record.OmitManagedFields {
				t.Error("the record wants managedFields")
			}
			if info.Record.Received {
				info.Record.ReceivedObject = []byte(`{"sent":1}`)
			}
			if info.Record.Answered {
				info.Record.AnsweredObject = []byte(`{"got":1}`)
			}
			ok(w, r)
		}, "alice-token", "GET", "/api/v1/namespaces/n/pods/p")
		e := s.list[len(s.list)-1]
		if got := string(e.RequestObject) + " " + string(e.ResponseObject); got != want {
			t.Errorf("%s: got %q, want %q", level, got, want)
		}
		if (e.Annotations["body"] != "") != (level != "Metadata") {
			t.Errorf("%s: got %v", level, e.Annotations)
		}
	}
}

// TestAuditImpersonation: the first event names who sent the request, the last both users.
func TestAuditImpersonation(t *testing.T) {
	c := testConfig(t)
	a, s := auditing(t, "- {level: Metadata}")
	c.Auditing = a
	if w := serve(c, ok, "admin-token", "GET", "/api/v1/namespaces/n/pods/p", "Impersonate-User", "alice"); w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	first, last := s.list[0], s.list[1]
	if first.User.Name != "admin" || first.Impersonated != nil || last.User.Name != "admin" || last.Impersonated.Name != "alice" {
		t.Errorf("got %+v, then %+v", first, last)
	}
}

// TestAuditRejects: a request whose first event cannot be stored is refused.
func TestAuditRejects(t *testing.T) {
	c := testConfig(t)
	a, s := auditing(t, "- {level: Metadata}")
	c.Auditing, s.full = a, true
	w := serve(c, func(http.ResponseWriter, *http.Request) { t.Error("the request is served") }, "alice-token", "GET", "/api/v1/pods?watch=1")
	if w.Code != 500 || !strings.Contains(w.Body.String(), "failed to store audit event") || s.rejected != 1 {
		t.Errorf("got %d %q, rejected %d", w.Code, w.Body, s.rejected)
	}
	if got := s.told(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// TestAuditLatency: the last event of a slow request tells the time of its parts.
func TestAuditLatency(t *testing.T) {
	t.Parallel()
	for _, slow := range []bool{true, false} {
		c := testConfig(t)
		a, s := auditing(t, "- {level: Metadata}")
		c.Auditing = a
		serve(c, func(w http.ResponseWriter, r *http.Request) {
			_, span := request.Begin(r.Context(), request.SpanStorage, "Get etcd3")
			time.Sleep(request.Noticeable)
			if slow {
				time.Sleep(slowLatency)
			}
			span.End()
			ok(w, r)
		}, "alice-token", "GET", "/api/v1/namespaces/n/pods/p")
		last := s.list[len(s.list)-1].Annotations
		storage, err := time.ParseDuration(last["apiserver.latency.k8s.io/etcd"])
		whole, _ := time.ParseDuration(last["apiserver.latency.k8s.io/total"])
		if slow != (err == nil) || slow && (storage < slowLatency || whole < storage) {
			t.Errorf("slow %v: got %v", slow, last)
		}
	}
}

// TestAuditReleases: an event that waits in a buffer keeps nothing of the request and its
// connection.
func TestAuditReleases(t *testing.T) {
	for _, tt := range []struct {
		name, token, path string
		handler           http.HandlerFunc
	}{
		{"answered", "alice-token", "/api/v1/namespaces/n/pods/p", ok},
		{"watch", "alice-token", "/api/v1/namespaces/n/pods?watch=1", ok},
		{"panic", "alice-token", "/api/v1/namespaces/n/pods/p", func(http.ResponseWriter, *http.Request) { panic("broken") }},
		{"refused", "alice-token", "/api/v1/namespaces/n/pods/p?timeout=x", ok},
		{"unauthenticated", "wrong", "/api/v1/namespaces/n/pods/p", ok},
	} {
		c := testConfig(t)
		a, s := auditing(t, "- {level: Metadata}")
		c.Auditing = a
		var x weak.Pointer[exchange]
		steps := c.Steps()
		outer := steps[0].Filter
		steps[0].Filter = func(next http.HandlerFunc) http.HandlerFunc {
			return outer(func(w http.ResponseWriter, r *http.Request) {
				x = weak.Make(exchangeOf(r))
				next(w, r)
			})
		}
		r := httptest.NewRequest("GET", tt.path, nil)
		r.Header.Set("Authorization", "Bearer "+tt.token)
		Chain(tt.handler, steps...).ServeHTTP(httptest.NewRecorder(), r)
		for range 3 {
			runtime.GC()
		}
		if len(s.list) == 0 || s.list[0].AuditID == "" || x.Value() != nil {
			t.Errorf("%s: %d events, the exchange is kept: %v", tt.name, len(s.list), x.Value() != nil)
		}
	}
}

// TestAuditHijack: a connection that is taken over begins with the code 101.
func TestAuditHijack(t *testing.T) {
	c := testConfig(t)
	a, s := auditing(t, "- {level: Metadata}")
	c.Auditing = a
	served := make(chan struct{})
	chain := Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}), c.Steps()...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		chain.ServeHTTP(w, r)
	}))
	defer server.Close()
	r, _ := http.NewRequest("GET", server.URL+"/api/v1/namespaces/n/pods/p/exec", nil)
	r.Header.Set("Authorization", "Bearer alice-token")
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Error("got a response")
	}
	<-served // the server does not wait for a connection that was taken over
	if got, want := s.told(), []string{"RequestReceived", "ResponseStarted 101", "ResponseComplete 101"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAuditAllocs is the ceiling of what auditing adds to a request, for each level of the policy.
func TestAuditAllocs(t *testing.T) {
	for rule, most := range map[string]float64{"{level: None}": 0, "{level: Metadata}": 8} {
		plain := testing.AllocsPerRun(1000, run(t))
		a, s := auditing(t, "- "+rule)
		a.Sink, a.Counts = discard{}, s
		if got := testing.AllocsPerRun(1000, runAudited(t, a)) - plain; got > most {
			t.Errorf("%s: got %v allocs more than without audit, want at most %v", rule, got, most)
		}
	}
}

// discard is a Sink that keeps nothing, and counts nothing.
type discard struct{}

func (discard) Process(*audit.Event) bool { return true }
func (discard) Level(audit.Level)         {}
func (discard) Event()                    {}
func (discard) Rejected()                 {}

// runAudited is run with auditing.
func runAudited(tb testing.TB, a *Auditing) func() {
	c := benchConfig(tb)
	a.Counts = discard{}
	c.Auditing = a
	return runWith(tb, c)
}

// BenchmarkAudit prints the cost of the whole chain without audit, with a policy that records
// nothing, and at Metadata, without what a Sink does.
func BenchmarkAudit(b *testing.B) {
	bench := func(name string, serve func()) {
		b.Run("audit="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
	bench("off", run(b))
	for _, level := range []string{"None", "Metadata"} {
		a, _ := auditing(b, "- {level: "+level+"}")
		a.Sink = discard{}
		bench(level, runAudited(b, a))
	}
}
