package rbac

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The model looks at every binding for every request, as the definition of RBAC says.

func modelAllows(s *objects, q *request.Attributes) bool {
	for k, obj := range s.all {
		var ref rbacv1.RoleRef
		var subjects []rbacv1.Subject
		switch b := obj.(type) {
		case *rbacv1.RoleBinding:
			if q.Namespace == "" || b.Namespace != q.Namespace {
				continue
			}
			ref, subjects = b.RoleRef, b.Subjects
		case *rbacv1.ClusterRoleBinding:
			ref, subjects = b.RoleRef, b.Subjects
		default:
			continue
		}
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return modelIs(q.User, s, k.namespace) }) {
			continue
		}
		var rules []rbacv1.PolicyRule
		switch role := s.all[key{Role, k.namespace, ref.Name}].(type) {
		case *rbacv1.Role:
			if ref.Kind == "Role" {
				rules = role.Rules
			}
		}
		if role, ok := s.all[key{ClusterRole, "", ref.Name}].(*rbacv1.ClusterRole); ok && ref.Kind == "ClusterRole" {
			rules = role.Rules
		}
		if slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return modelRule(&r, q) }) {
			return true
		}
	}
	return false
}

func modelIs(u *request.User, s rbacv1.Subject, namespace string) bool {
	switch s.Kind {
	case "User":
		return s.Name == u.Name
	case "Group":
		return slices.Contains(u.Groups, s.Name)
	}
	if s.Namespace != "" {
		namespace = s.Namespace
	}
	return namespace != "" && u.Name == "system:serviceaccount:"+namespace+":"+s.Name
}

func modelRule(r *rbacv1.PolicyRule, q *request.Attributes) bool {
	either := func(list []string, is ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(is, s) })
	}
	if !either(r.Verbs, "*", q.Verb) {
		return false
	}
	if !q.IsResource {
		return slices.ContainsFunc(r.NonResourceURLs, func(u string) bool {
			return u == q.Path || strings.HasSuffix(u, "*") && strings.HasPrefix(q.Path, strings.TrimRight(u, "*"))
		})
	}
	what := []string{"*", q.Resource}
	if q.Subresource != "" {
		what = []string{"*", q.Resource + "/" + q.Subresource, "*/" + q.Subresource}
	}
	return either(r.APIGroups, "*", q.Group) && either(r.Resources, what...) && (len(r.ResourceNames) == 0 || either(r.ResourceNames, q.Name))
}

// randomPolicies makes random policies and requests from a small vocabulary, so that they often
// match.
type randomPolicies struct{ *rand.Rand }

func (d randomPolicies) one(words ...string) string { return words[d.IntN(len(words))] }

func (d randomPolicies) some(words ...string) []string {
	var out []string
	for range 1 + d.IntN(3) {
		out = append(out, d.one(words...))
	}
	return out
}

var (
	verbWords     = list("get", "list", "create", "*", "polish", "")
	groupWords    = list("", "apps", "*")
	resourceWords = list("pods", "pods/log", "*/log", "*", "log", "nodes", "pods/", "/log", "*/")
	pathWords     = list("/", "/a", "/a/b", "/a*", "/a/*", "*", "/ab")
	nameWords     = list("a", "b", "")
	spaceWords    = list("", "one", "two")
)

func (d randomPolicies) rules() (rules []rbacv1.PolicyRule) {
	for range d.IntN(4) {
		rules = append(rules, rbacv1.PolicyRule{
			Verbs: d.some(verbWords...), APIGroups: d.some(groupWords...), Resources: d.some(resourceWords...),
			NonResourceURLs: d.some(pathWords...),
		})
		if d.IntN(3) == 0 {
			rules[len(rules)-1].ResourceNames = d.some(nameWords...)
		}
	}
	return rules
}

func (d randomPolicies) subjects() (subjects []rbacv1.Subject) {
	for range d.IntN(4) {
		s := rbacv1.Subject{Kind: d.one("User", "Group", "ServiceAccount"), Name: d.one("alice", "dev", "bot", "system:serviceaccount:one:bot")}
		if s.Kind == rbacv1.ServiceAccountKind {
			s.Namespace = d.one(spaceWords...)
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// change adds, replaces or removes a random object of s.
func (d randomPolicies) change(s *objects) {
	name, namespace := d.one("a", "b", "c"), d.one("one", "two")
	var obj meta.Object
	switch d.IntN(4) {
	case 0:
		obj = roleOf(namespace, name, d.rules()...)
	case 1:
		obj = clusterRoleOf(name, d.rules()...)
	case 2:
		obj = bind(namespace, name, d.one("Role", "ClusterRole", "Odd"), d.one("a", "b", "c"), d.subjects()...)
	default:
		obj = bind("", name, d.one("Role", "ClusterRole"), d.one("a", "b", "c"), d.subjects()...)
	}
	if k := keyOf(obj); d.IntN(4) == 0 {
		s.set(k, nil)
	} else {
		s.set(k, obj)
	}
}

func (d randomPolicies) question() request.Attributes {
	q := request.Attributes{
		User: &request.User{Name: d.one("alice", "bob", "system:serviceaccount:one:bot", "system:serviceaccount:two:bot"), Groups: d.some("dev", "ops", "alice")},
		Verb: d.one(verbWords...), Group: d.one(groupWords...), Resource: d.one("pods", "nodes", "log", "*"), Subresource: d.one("", "", "log"),
		Name: d.one(nameWords...), Namespace: d.one(spaceWords...), Path: d.one(pathWords...), IsResource: d.IntN(3) > 0,
	}
	return q
}

// TestModel compares decisions with the model while policies change.
func TestModel(t *testing.T) {
	allowed := 0
	for seed := range uint64(40) {
		d := randomPolicies{rand.New(rand.NewPCG(seed, 1))}
		s := newObjects()
		a := New(s)
		for range 1000 {
			if d.IntN(5) == 0 {
				d.change(s)
			}
			q := d.question()
			got, _ := ask(t, a, q)
			if want := modelAllows(s, &q); (got == allow) != want {
				t.Fatalf("seed %d: %+v %+v: got %v, want allowed: %t", seed, q, q.User, got, want)
			} else if want {
				allowed++
			}
			if d.IntN(10) > 0 {
				continue
			}
			if again, _ := ask(t, New(s), q); again != got {
				t.Fatalf("seed %d: an index made at once says %v, one made step by step %v", seed, again, got)
			}
		}
	}
	if allowed < 1000 {
		t.Errorf("only %d questions were allowed", allowed)
	}
}

// many returns a cluster of 1,000 roles and 5,000 bindings.
func many() *objects {
	s := newObjects(
		clusterRoleOf("basic", ruleOf(list("create"), list("authorization.k8s.io"), list("selfsubjectaccessreviews", "selfsubjectrulesreviews"))),
		bind("", "basic", "ClusterRole", "basic", group("system:authenticated")),
		clusterRoleOf("discovery", rbacv1.PolicyRule{Verbs: list("get"), NonResourceURLs: list("/api", "/api/*", "/apis", "/apis/*", "/version")}),
		bind("", "discovery", "ClusterRole", "discovery", group("system:authenticated")),
	)
	for i := range 500 {
		s.put(clusterRoleOf(fmt.Sprint("role-", i), ruleOf(list("get", "list", "watch"), list("", "apps"), list("secrets", "pods", "pods/log", "deployments", "configmaps"))))
		s.put(roleOf(fmt.Sprint("ns-", i), "local", ruleOf(list("create", "update", "patch"), list("apps"), list("deployments", "statefulsets"))))
	}
	for i := range 5000 {
		ns := fmt.Sprint("ns-", i%500)
		if i%10 == 0 {
			s.put(bind("", fmt.Sprint("binding-", i), "ClusterRole", fmt.Sprint("role-", i/10), user(fmt.Sprint("user-", i)), group(fmt.Sprint("group-", i))))
			continue
		}
		kind, role := "ClusterRole", fmt.Sprint("role-", i%500)
		if i%2 == 0 {
			kind, role = "Role", "local"
		}
		s.put(bind(ns, fmt.Sprint("binding-", i), kind, role, user(fmt.Sprint("user-", i)), group(fmt.Sprint("group-", i)), account("", "bot")))
	}
	return s
}

// usual returns typical requests: an early rule allows some of them, a late one allows others, and
// no rule allows the rest.
func usual() map[string]request.Attributes {
	who := func(i int) *request.User {
		return &request.User{Name: fmt.Sprint("user-", i), Groups: list("system:authenticated", fmt.Sprint("group-", i+1), "dev")}
	}
	get := request.Attributes{User: who(2001), IsResource: true, Verb: "get", Resource: "configmaps", Namespace: "ns-1", Name: "a"}
	no := get
	no.Verb = "delete"
	wide := get
	wide.User = who(3000)
	account := get
	account.User = &request.User{Name: "system:serviceaccount:ns-1:bot", Groups: list("system:serviceaccounts", "system:serviceaccounts:ns-1", "system:authenticated")}
	return map[string]request.Attributes{
		"namespace": get, "cluster": wide, "refused": no, "account": account,
		"path": {User: who(1), Verb: "get", Path: "/apis/apps/v1"},
	}
}

func BenchmarkAuthorize(b *testing.B) {
	a := New(many())
	for name, q := range usual() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := a.Authorize(b.Context(), &q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkChange is a decision after a binding has changed.
func BenchmarkChange(b *testing.B) {
	for _, namespace := range list("ns-7", "") {
		b.Run("in="+namespace, func(b *testing.B) {
			s := many()
			a := New(s)
			q := usual()["namespace"]
			for i := 0; b.Loop(); i++ {
				s.put(bind(namespace, "b", "ClusterRole", "basic", user(fmt.Sprint("new-", i%2))))
				if _, _, err := a.Authorize(b.Context(), &q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDecisionsAllocateNothing: no decision allocates, whether it allows or not.
func TestDecisionsAllocateNothing(t *testing.T) {
	a := New(many())
	for name, q := range usual() {
		decision, _ := ask(t, a, q)
		if want := name != "refused"; (decision == allow) != want {
			t.Errorf("%s: got %v, want allowed: %t", name, decision, want)
		}
		if got := testing.AllocsPerRun(100, func() { a.Authorize(t.Context(), &q) }); got > 0 {
			t.Errorf("%s: got %v allocations, want none", name, got)
		}
	}
}
