package rbac

import (
	"context"
	"errors"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

const allow, pass = request.Allow, request.NoOpinion

// TestRules checks which requests one rule allows.
func TestRules(t *testing.T) {
	paths := func(verb string, paths ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: list(verb), NonResourceURLs: paths}
	}
	of := func(verb, group, resource, sub, name string) request.Attributes {
		return request.Attributes{IsResource: true, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name}
	}
	at := func(verb, path string) request.Attributes { return request.Attributes{Verb: verb, Path: path} }
	core := list("")
	for _, tt := range []struct {
		rule rbacv1.PolicyRule
		q    request.Attributes
		want bool
	}{
		{ruleOf(list("get"), core, list("pods")), of("get", "", "pods", "", "a"), true},
		{ruleOf(list("get"), core, list("pods")), of("list", "", "pods", "", ""), false},
		{ruleOf(list("get"), core, list("pods")), of("get", "apps", "pods", "", "a"), false},
		{ruleOf(list("get"), core, list("pods")), of("get", "", "pods", "log", "a"), false},
		{ruleOf(list("get"), core, list("pods/log")), of("get", "", "pods", "log", "a"), true},
		{ruleOf(list("get"), core, list("pods/log")), of("get", "", "pods", "", "a"), false},
		{ruleOf(list("get"), core, list("*/log")), of("get", "", "pods", "log", "a"), true},
		{ruleOf(list("get"), core, list("*/log")), of("get", "", "pods", "blog", "a"), false},
		{ruleOf(list("get"), core, list("*/log")), of("get", "", "pods", "", "a"), false},
		{ruleOf(list("get"), core, list("pods/*")), of("get", "", "pods", "log", "a"), false},
		{ruleOf(list("get"), core, list("po*")), of("get", "", "pods", "", "a"), false},
		{ruleOf(list("get"), core, list("ods/log")), of("get", "", "pods", "log", "a"), false},
		{ruleOf(list("*"), list("*"), list("*")), of("polish", "x", "y", "z", "a"), true},
		{ruleOf(list("*"), list("*"), list("*")), at("get", "/metrics"), false},
		{ruleOf(list("polish"), core, list("pods")), of("polish", "", "pods", "", "a"), true},
		{ruleOf(list("polish"), core, list("pods")), of("paint", "", "pods", "", "a"), false},
		{ruleOf(list("get*"), core, list("pods")), of("get", "", "pods", "", "a"), false},
		{ruleOf(list("get", "list"), core, list("pods"), "a"), of("get", "", "pods", "", "a"), true},
		{ruleOf(list("get", "list"), core, list("pods"), "a"), of("get", "", "pods", "", "b"), false},
		{ruleOf(list("get", "list"), core, list("pods"), "a"), of("list", "", "pods", "", ""), false},
		{ruleOf(list("get", "list"), core, list("pods"), "a"), of("list", "", "pods", "", "a"), true}, // by a field selector
		{ruleOf(nil, core, list("pods")), of("get", "", "pods", "", "a"), false},
		{ruleOf(list(""), core, list("pods")), of("", "", "pods", "", "a"), true},
		{paths("get", "/healthz"), at("get", "/healthz"), true},
		{paths("get", "/healthz"), at("get", "/healthz/"), false},
		{paths("get", "/healthz"), at("get", "/healthz/../metrics"), false},
		{paths("get", "/healthz"), at("get", "/HEALTHZ"), false},
		{paths("get", "/healthz/*"), at("get", "/healthz"), false},
		{paths("get", "/healthz/*"), at("get", "/healthz/ping"), true},
		{paths("get", "/healthz*"), at("get", "/healthzebra"), true},
		{paths("get", "*"), at("get", "/"), true},
		{paths("get", "/*/ping"), at("get", "/healthz/ping"), false},
		{paths("get", "/a"), at("put", "/a"), false},
		{paths("*", "/a"), at("brew", "/a"), true},
		{paths("get", "/a"), of("get", "", "pods", "", ""), false},
	} {
		a := New(newObjects(clusterRoleOf("r", tt.rule), bind("", "b", "ClusterRole", "r", user("alice"))))
		tt.q.User = &request.User{Name: "alice"}
		if got, _ := ask(t, a, tt.q); (got == allow) != tt.want {
			t.Errorf("%+v: %+v: got %v, want allowed: %t", tt.rule, tt.q, got, tt.want)
		}
	}
}

// TestSubjects checks which users get a binding's role, in which namespace, and with which reason.
func TestSubjects(t *testing.T) {
	all := ruleOf(list("get"), list(""), list("pods"))
	a := New(newObjects(
		clusterRoleOf("c", all), roleOf("team", "r", all),
		bind("", "b", "ClusterRole", "c", user("alice"), group("dev"), account("team", "bot")),
		bind("team", "b", "Role", "r", user("bob"), account("", "local"), group("ops"), user("bob")),
		bind("team", "c", "ClusterRole", "c", user("carol")),
		bind("team", "odd", "Thing", "c", user("dora")),
		bind("team", "gone", "Role", "none", user("dora")),
		bind("", "gone", "ClusterRole", "none", user("dora"), group("lost")),
		bind("", "twice", "ClusterRole", "none", user("dora")),
		bind("", "role", "Role", "r", user("dora")),
		bind("", "nobody", "ClusterRole", "c", account("", "homeless"), rbacv1.Subject{Kind: "Odd", Name: "eve"}),
	))
	for _, tt := range []struct {
		user, group, namespace string
		want                   request.Decision
		reason                 string
	}{
		{"alice", "", "", allow, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to User "alice"`},
		{"alice", "dev", "team", allow, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to User "alice"`},
		{"x", "dev", "elsewhere", allow, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to Group "dev"`},
		{"dev", "alice", "", pass, ""},
		{"system:serviceaccount:team:bot", "", "", allow, `RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "c" to ServiceAccount "bot/team"`},
		{"system:serviceaccount:other:bot", "", "", pass, ""},
		{"system:serviceaccount:team:local", "", "team", allow, `RBAC: allowed by RoleBinding "b/team" of Role "r" to ServiceAccount "local/team"`},
		{"bob", "", "team", allow, `RBAC: allowed by RoleBinding "b/team" of Role "r" to User "bob"`},
		{"bob", "", "", pass, ""},
		{"bob", "", "other", pass, ""},
		{"z", "ops", "team", allow, `RBAC: allowed by RoleBinding "b/team" of Role "r" to Group "ops"`},
		{"carol", "", "team", allow, `RBAC: allowed by RoleBinding "c/team" of ClusterRole "c" to User "carol"`},
		{"system:serviceaccount::homeless", "", "", pass, ""},
		{"eve", "", "", pass, ""},
		{"x", "lost", "", pass, `RBAC: clusterrole.rbac.authorization.k8s.io "none" not found`},
		{"dora", "", "team", pass, `RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "r" not found, ` +
			`role.rbac.authorization.k8s.io "none" not found, unsupported role reference kind: "Thing"]`},
	} {
		who := &request.User{Name: tt.user, Groups: list(tt.group)}
		got, reason := ask(t, a, request.Attributes{User: who, IsResource: true, Verb: "get", Resource: "pods", Namespace: tt.namespace})
		if got != tt.want || reason != tt.reason {
			t.Errorf("%s (%s) in %q: got %v %q, want %v %q", tt.user, tt.group, tt.namespace, got, reason, tt.want, tt.reason)
		}
	}
	if got, _ := ask(t, a, request.Attributes{Verb: "get"}); got != pass {
		t.Errorf("without a user: got %v", got)
	}
}

// TestChanges: any change takes effect at the next decision.
func TestChanges(t *testing.T) {
	s := newObjects()
	a := New(s)
	want := func(what string, decision request.Decision) {
		t.Helper()
		q := request.Attributes{User: &request.User{Name: "alice"}, IsResource: true, Verb: "get", Resource: "pods", Namespace: "ns"}
		if got, _ := ask(t, a, q); got != decision {
			t.Errorf("%s: got %v, want %v", what, got, decision)
		}
	}
	role, binding := roleOf("ns", "r", ruleOf(list("get"), list(""), list("pods"))), bind("ns", "b", "Role", "r", user("alice"))
	want("nothing", pass)
	s.put(binding)
	want("a binding without its role", pass)
	s.put(role)
	want("both", allow)
	s.put(roleOf("ns", "r"))
	want("an empty role", pass)
	s.put(role)
	s.put(bind("ns", "b", "Role", "r", user("bob")))
	want("a binding for somebody else", pass)
	s.put(bind("ns", "b2", "Role", "r", user("alice")))
	want("another binding", allow)
	s.set(keyOf(binding), nil)
	want("the first binding gone", allow)
	s.set(key{RoleBinding, "ns", "b2"}, nil)
	want("both gone", pass)
	s.put(binding)
	s.set(keyOf(role), nil)
	want("the role gone, or unreadable", pass)
	reads := s.reads
	want("no change", pass)
	if s.reads != reads {
		t.Error("the source was read though nothing had changed")
	}
	s.put(role)
	s.err = errors.New("oops")
	if decision, _, err := a.Authorize(t.Context(), &request.Attributes{User: new(request.User)}); decision != pass || err == nil {
		t.Errorf("a source that cannot be read: got %v, %v", decision, err)
	}
}

// TestTurn: a request that waits for another one to read gives up when its context ends.
func TestTurn(t *testing.T) {
	a := New(newObjects())
	a.turn <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := a.Authorize(ctx, &request.Attributes{User: new(request.User)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
