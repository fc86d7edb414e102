package filters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest/observer"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

var _ = addExits([]exit{
	{step: "impersonate", name: "may not", token: "alice-token", request: exitGet, headers: []string{"Impersonate-User", "bob"}, code: 403},
	{step: "impersonate", name: "may not, too many refusals",
		config: func(c *Config) { c.refusals = new(refusals); c.refusals.users.Store(maxRefusals) },
		token:  "alice-token", request: exitGet, headers: []string{"Impersonate-User", "bob"}},
})

// rights is an Authorizer that allows exactly what it lists, as "user verb
// resource.group/namespace/name".
type rights []string

func (r rights) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	what := a.Path
	if a.IsResource {
		what = a.Resource
		if a.Subresource != "" {
			what += "/" + a.Subresource
		}
		what += "." + a.Group + "/" + a.Namespace + "/" + a.Name
	}
	if slices.Contains(r, a.User.Name+" "+a.Verb+" "+what) {
		return request.Allow, "listed", nil
	}
	return request.NoOpinion, "", nil
}

// served is what a handler saw of a request.
type served struct {
	user, by *request.User
	info     *request.Info
	headers  http.Header
}

// impersonated sends a request by a user with headers, a name and a value each, through
// Impersonate.
func impersonated(may request.Authorizer, f *Filter, by *request.User, target string, headers ...string) (*served, *httptest.ResponseRecorder) {
	var got *served
	if f == nil {
		own := Impersonate(may, nil, fail)
		f = &own
	}
	steps := []Step{{Filter: Begin()}, {Filter: Info(fail)}, {Filter: func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { exchangeOf(r).info.User = by; next(w, r) }
	}}, {Filter: *f}}
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		info := request.From(r.Context())
		got = &served{info.User, info.Impersonator, info, r.Header}
	}), steps...)
	r, w := httptest.NewRequest("GET", target, nil), httptest.NewRecorder()
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	h.ServeHTTP(w, r)
	return got, w
}

func userText(u *request.User) string {
	return fmt.Sprintf("%s %s %q %v", u.Name, u.UID, u.Groups, u.Extra)
}

const pods = "/api/v1/namespaces/n/pods"

// TestImpersonate checks who may impersonate whom, by which rights, and which user the handler
// sees.
func TestImpersonate(t *testing.T) {
	bob := &request.User{Name: "bob", Groups: []string{"dev"}, Extra: map[string][]string{"a": {"b"}}}
	agent := &request.User{Name: "system:serviceaccount:kube-system:agent", Extra: map[string][]string{
		"authentication.kubernetes.io/node-name": {"n1"}, "authentication.kubernetes.io/pod-name": {"p"}}}
	for _, tt := range []struct {
		name       string
		by         *request.User
		rights     rights
		headers    []string
		want       string // the user, or the error
		constraint string
	}{
		{"nobody", bob, nil, nil, `bob  ["dev"] map[a:[b]]`, ""},
		{"an empty name", bob, nil, []string{"Impersonate-User", ""}, `bob  ["dev"] map[a:[b]]`, ""},
		{"a user", bob, rights{"bob impersonate users.//jane"}, []string{"Impersonate-User", "jane"},
			`jane  ["system:authenticated"] map[]`, ""},
		{"another user", bob, rights{"bob impersonate users.//jane"}, []string{"Impersonate-User", "joe"},
			`pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "n"`, ""},
		{"a user in a group", bob, rights{"bob impersonate users.//jane", "bob impersonate groups.//ops"},
			[]string{"Impersonate-User", "jane", "Impersonate-Group", "ops"}, `jane  ["ops" "system:authenticated"] map[]`, ""},
		{"system:masters without the right", bob, rights{"bob impersonate users.//jane", "bob impersonate groups.//ops"},
			[]string{"Impersonate-User", "jane", "Impersonate-Group", "ops", "Impersonate-Group", "system:masters"},
			`pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "n"`, ""},
		{"everything", bob, rights{"bob impersonate users.//jane", "bob impersonate groups.//ops", "bob impersonate uids.authentication.k8s.io//7",
			"bob impersonate userextras/example.com/key.authentication.k8s.io//v1", "bob impersonate userextras/example.com/key.authentication.k8s.io//v2"},
			[]string{"Impersonate-User", "jane", "Impersonate-Group", "ops", "Impersonate-Uid", "7", "Impersonate-Extra-Example.com%2fkey", "v1", "Impersonate-Extra-Example.com%2Fkey", "v2"},
			`jane 7 ["ops" "system:authenticated"] map[example.com/key:[v1 v2]]`, ""},
		{"a service account", bob, rights{"bob impersonate serviceaccounts./ns/robot"},
			[]string{"Impersonate-User", "system:serviceaccount:ns:robot"},
			`system:serviceaccount:ns:robot  ["system:serviceaccounts" "system:serviceaccounts:ns" "system:authenticated"] map[]`, ""},
		{"a service account is no user", bob, rights{"bob impersonate users.//system:serviceaccount:ns:robot"},
			[]string{"Impersonate-User", "system:serviceaccount:ns:robot"},
			`pods is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" in the namespace "n"`, ""},
		{"anonymous", bob, rights{"bob impersonate users.//system:anonymous"}, []string{"Impersonate-User", "system:anonymous"},
			`system:anonymous  ["system:unauthenticated"] map[]`, ""},
		{"unauthenticated", bob, rights{"bob impersonate users.//jane", "bob impersonate groups.//system:unauthenticated"},
			[]string{"Impersonate-User", "jane", "Impersonate-Group", "system:unauthenticated"}, `jane  ["system:unauthenticated"] map[]`, ""},
		{"a group alone", bob, rights{"bob impersonate groups.//system:masters"}, []string{"Impersonate-Group", "system:masters"},
			`requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"system:masters"}, Extra:map[string][]string(nil)} without impersonating a user name`, ""},
		{"extra alone", bob, nil, []string{"Impersonate-Extra-Scopes", "a"},
			`requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"scopes":[]string{"a"}}} without impersonating a user name`, ""},

		{"a user for a purpose", bob, rights{"bob impersonate:user-info users.authentication.k8s.io//jane", "bob impersonate-on:user-info:list pods./n/"},
			[]string{"Impersonate-User", "jane"}, `jane  ["system:authenticated"] map[]`, "impersonate:user-info"},
		{"a user without a purpose", bob, rights{"bob impersonate:user-info users.authentication.k8s.io//jane"}, []string{"Impersonate-User", "jane"},
			`pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "n"`, ""},
		{"a purpose without a user", bob, rights{"bob impersonate-on:user-info:list pods./n/"}, []string{"Impersonate-User", "jane"},
			`users.authentication.k8s.io "jane" is forbidden: User "bob" cannot impersonate:user-info resource "users" in API group "authentication.k8s.io" at the cluster scope`, ""},
		{"system:masters for a purpose", bob, rights{"bob impersonate:user-info users.authentication.k8s.io//jane", "bob impersonate-on:user-info:list pods./n/",
			"bob impersonate:user-info groups.authentication.k8s.io//system:masters"}, []string{"Impersonate-User", "jane", "Impersonate-Group", "system:masters"},
			`groups.authentication.k8s.io "system:masters" is forbidden: User "bob" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed`, ""},
		{"any group for a purpose", bob, rights{"bob impersonate:user-info users.authentication.k8s.io//jane", "bob impersonate-on:user-info:list pods./n/",
			"bob impersonate:user-info groups.authentication.k8s.io//*"},
			[]string{"Impersonate-User", "jane", "Impersonate-Group", "a", "Impersonate-Group", "b", "Impersonate-Group", "c", "Impersonate-Group", "d"},
			`jane  ["a" "b" "c" "d" "system:authenticated"] map[]`, "impersonate:user-info"},
		{"extra without a domain for a purpose", bob, rights{"bob impersonate:user-info users.authentication.k8s.io//jane", "bob impersonate-on:user-info:list pods./n/"},
			[]string{"Impersonate-User", "jane", "Impersonate-Extra-Scopes", "a"},
			`userextras.authentication.k8s.io is forbidden: User "bob" cannot impersonate:user-info resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")`, ""},
		{"a service account for a purpose", bob, rights{"bob impersonate:serviceaccount serviceaccounts.authentication.k8s.io/ns/robot", "bob impersonate-on:serviceaccount:list pods./n/"},
			[]string{"Impersonate-User", "system:serviceaccount:ns:robot"},
			`system:serviceaccount:ns:robot  ["system:serviceaccounts" "system:serviceaccounts:ns" "system:authenticated"] map[]`, "impersonate:serviceaccount"},
		{"a node for a purpose", bob, rights{"bob impersonate:arbitrary-node nodes.authentication.k8s.io//n1", "bob impersonate-on:arbitrary-node:list pods./n/"},
			[]string{"Impersonate-User", "system:node:n1"}, `system:node:n1  ["system:nodes" "system:authenticated"] map[]`, "impersonate:arbitrary-node"},
		{"the own node", agent, rights{agent.Name + " impersonate:associated-node nodes.authentication.k8s.io//*", agent.Name + " impersonate-on:associated-node:list pods./n/"},
			[]string{"Impersonate-User", "system:node:n1"}, `system:node:n1  ["system:nodes" "system:authenticated"] map[]`, "impersonate:associated-node"},
		{"another node", agent, rights{agent.Name + " impersonate:associated-node nodes.authentication.k8s.io//*", agent.Name + " impersonate-on:associated-node:list pods./n/"},
			[]string{"Impersonate-User", "system:node:n2"},
			`pods is forbidden: User "` + agent.Name + `" cannot impersonate-on:arbitrary-node:list resource "pods" in API group "" in the namespace "n"`, ""},
	} {
		got, w := impersonated(tt.rights, nil, tt.by, pods, tt.headers...)
		if got == nil {
			if _, text, _ := strings.Cut(w.Body.String(), ": "); text != tt.want {
				t.Errorf("%s:\ngot  %s\nwant %s", tt.name, text, tt.want)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: the refusal may be sniffed", tt.name)
			}
			continue
		}
		if text := userText(got.user); text != tt.want || got.info.Constraint != tt.constraint {
			t.Errorf("%s:\ngot  %s %q\nwant %s %q", tt.name, text, got.info.Constraint, tt.want, tt.constraint)
		}
		if (got.by == tt.by) != (got.user != tt.by) {
			t.Errorf("%s: the impersonator is %v", tt.name, got.by)
		}
		if impersonates(got.headers) {
			t.Errorf("%s: the handler sees %v", tt.name, got.headers)
		}
	}
}

// TestImpersonateHeadersGo: no header whose name begins with Impersonate-, in any letter case,
// reaches a handler.
func TestImpersonateHeadersGo(t *testing.T) {
	own := Impersonate(authz.AlwaysAllow(), nil, fail)
	r := httptest.NewRequest("GET", pods, nil)
	for _, name := range []string{"Impersonate-User", "impersonate-user", "iMPERSONATE-user name", "Impersonate-", "Impersonate-Whatever", "Impersonate", "X-Impersonate-User"} {
		r.Header[name] = []string{"jane"} // not by Set, because net/http does not canonicalize every name that a client sends
	}
	Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if len(r.Header) != 2 || exchangeOf(r).info.User.Name != "jane" {
			t.Errorf("the handler sees %v of %v", r.Header, exchangeOf(r).info.User)
		}
	}), Step{Filter: Begin()}, Step{Filter: Info(fail)}, Step{Filter: func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			exchangeOf(r).info.User = &request.User{Name: "bob"}
			next(w, r)
		}
	}}, Step{Filter: own}).ServeHTTP(httptest.NewRecorder(), r)
}

// TestImpersonateAgain: after an impersonation in the legacy mode, the next request of the user
// tries that mode first and gets its refusal.
func TestImpersonateAgain(t *testing.T) {
	asked := 0
	may := rights{"bob impersonate users.//jane"}
	f := Impersonate(authz.Func(func(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
		asked++
		return may.Authorize(ctx, a)
	}), nil, fail)
	bob := &request.User{Name: "bob"}
	for _, want := range []int{2, 1, 1} {
		asked = 0
		if got, _ := impersonated(nil, &f, bob, pods, "Impersonate-User", "jane"); got == nil || asked != want {
			t.Errorf("asked %d times, want %d", asked, want)
		}
	}
	_, w := impersonated(nil, &f, bob, pods, "Impersonate-User", "joe")
	if want := `Forbidden: users "joe" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope`; w.Body.String() != want {
		t.Errorf("got %s, want %s", w.Body, want)
	}
	may = nil // the right ends at once
	if got, _ := impersonated(nil, &f, bob, pods, "Impersonate-User", "jane"); got != nil {
		t.Errorf("served as %v, without the right to", got.user)
	}
}

// TestImpersonateErrors: an error of the authorizer is a refusal, with the error as reason.
func TestImpersonateErrors(t *testing.T) {
	own := meta.NewForbidden(meta.GroupResource{Resource: "x"}, "y", errors.New("so it is"))
	for _, tt := range []struct {
		decision request.Decision
		reason   string
		err      error
		want     string
	}{
		{request.NoOpinion, "", errors.New("oops"), `in the namespace "n": oops`},
		{request.Deny, "no", errors.New("oops"), `in the namespace "n": oops: no`},
		{request.Deny, "no", nil, `in the namespace "n": no`},
		{request.Deny, "no", own, `x "y" is forbidden: so it is`},
	} {
		may := authz.Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
			return tt.decision, tt.reason, tt.err
		})
		got, w := impersonated(may, nil, &request.User{Name: "bob"}, pods, "Impersonate-User", "jane")
		if got != nil || w.Code != 403 || !strings.HasSuffix(w.Body.String(), tt.want) {
			t.Errorf("%v %q %v: got %d %s, want %s", tt.decision, tt.reason, tt.err, w.Code, w.Body, tt.want)
		}
	}
	half := authz.Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
		return request.Allow, "", errors.New("oops")
	})
	if got, w := impersonated(half, nil, &request.User{Name: "bob"}, pods, "Impersonate-User", "jane"); got == nil {
		t.Errorf("allowed in spite of an error: got %s", w.Body)
	}
}

// TestImpersonationLogged: the request's log line names both users.
func TestImpersonationLogged(t *testing.T) {
	core, lines := observer.New(zap.DebugLevel)
	c := testConfig(t)
	c.Log = zap.New(core)
	if w := serve(c, ok, "admin-token", "GET", pods, "Impersonate-User", "alice", "Impersonate-Group", "system:masters"); w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	entries := lines.FilterMessage("request").All()
	if len(entries) != 1 || entries[0].ContextMap()["user"] != "alice" || entries[0].ContextMap()["impersonator"] != "admin" {
		t.Errorf("got %v", entries)
	}
	serve(c, ok, "admin-token", "GET", pods)
	if _, said := lines.FilterMessage("request").All()[1].ContextMap()["impersonator"]; said {
		t.Error("an impersonator where there is none")
	}
}

// TestImpersonateAllocs: a request without impersonation headers costs a look at each header's name
// and no allocation.
func TestImpersonateAllocs(t *testing.T) {
	r := get()
	for i := range 1000 {
		r.Header[fmt.Sprintf("Impersonat-%d", i)] = []string{"x"}
	}
	h, w := Impersonate(authz.AlwaysAllow(), nil, fail)(noop), &sink{header: http.Header{}}
	if got := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); got != 0 {
		t.Errorf("got %v allocs, want none", got)
	}
}

// FuzzImpersonate sends random headers. The request is served as its sender, or as a user that it
// names and all of whose parts were allowed. Nobody becomes a member of system:masters without the
// right, and no handler sees the headers.
func FuzzImpersonate(f *testing.F) {
	for _, seed := range []string{
		"Impersonate-User: jane", "Impersonate-User: jane\nImpersonate-Group: system:masters", "Impersonate-User: system:serviceaccount:a:b",
		"impersonate-extra-%2f: a\nImpersonate-User: jane\nImpersonate-Extra-A%2fB: c", "Impersonate-Uid: 1", "Impersonate-User: system:node:n1",
		"Impersonate-User: system:anonymous\nImpersonate-Group: \nImpersonate-Group: x",
	} {
		f.Add(seed, uint8(7))
	}
	f.Fuzz(func(t *testing.T, lines string, some uint8) {
		bob := &request.User{Name: "bob"}
		allowed := map[string]bool{}
		may := authz.Func(func(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
			if a.User.Name != "bob" || a.Name == request.GroupMasters || hashOf(a.Verb+a.Resource+a.Name)>>8&uint64(some) != 0 {
				return request.NoOpinion, "", nil
			}
			allowed[a.Name] = true
			return request.Allow, "", nil
		})
		var headers []string
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			headers = append(headers, name, strings.TrimSpace(value))
		}
		got, w := impersonated(may, nil, bob, pods, headers...)
		if got == nil {
			if w.Code != http.StatusForbidden && w.Code != http.StatusBadRequest {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
			return
		}
		if impersonates(got.headers) {
			t.Errorf("the handler sees %v", got.headers)
		}
		if got.user == bob {
			return
		}
		if got.by != bob || got.user.InGroup(request.GroupMasters) {
			t.Errorf("%v has become %s", got.by, userText(got.user))
		}
		_, account, _ := request.ServiceAccountOf(got.user.Name)
		node, _ := request.NodeOf(got.user.Name)
		if !allowed[got.user.Name] && !allowed[account] && !allowed[node] {
			t.Errorf("nobody allowed %s", userText(got.user))
		}
	})
}
