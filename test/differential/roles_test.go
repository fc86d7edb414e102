package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	k8srbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	k8srequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	theirroles "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	ourroles "github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/registry/rbac"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// cluster holds the same roles and bindings for both sides.
type cluster struct {
	roles               []*k8srbac.Role
	clusterRoles        []*k8srbac.ClusterRole
	roleBindings        []*k8srbac.RoleBinding
	clusterRoleBindings []*k8srbac.ClusterRoleBinding
	ours                ourroles.Update
}

func (c *cluster) GetRole(_ context.Context, namespace, name string) (*k8srbac.Role, error) {
	for _, r := range c.roles {
		if r.Namespace == namespace && r.Name == name {
			return r, nil
		}
	}
	return nil, errors.NewNotFound(k8srbac.Resource("role"), name)
}

func (c *cluster) GetClusterRole(_ context.Context, name string) (*k8srbac.ClusterRole, error) {
	for _, r := range c.clusterRoles {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, errors.NewNotFound(k8srbac.Resource("clusterrole"), name)
}

func (c *cluster) ListRoleBindings(_ context.Context, namespace string) (list []*k8srbac.RoleBinding, _ error) {
	for _, b := range c.roleBindings {
		if b.Namespace == namespace {
			list = append(list, b)
		}
	}
	return list, nil
}

func (c *cluster) ListClusterRoleBindings(context.Context) ([]*k8srbac.ClusterRoleBinding, error) {
	return c.clusterRoleBindings, nil
}

func (c *cluster) Holds(mark any) bool                                { return mark != nil }
func (c *cluster) Read(context.Context, any) (ourroles.Update, error) { return c.ours, nil }
func (c *cluster) add(kind ourroles.Kind, namespace, name string, obj any) {
	var ours meta.Object
	switch kind {
	case ourroles.Role:
		ours = likeTheirs[rbacv1.Role](obj)
	case ourroles.ClusterRole:
		ours = likeTheirs[rbacv1.ClusterRole](obj)
	case ourroles.RoleBinding:
		ours = likeTheirs[rbacv1.RoleBinding](obj)
	case ourroles.ClusterRoleBinding:
		ours = likeTheirs[rbacv1.ClusterRoleBinding](obj)
	}
	c.ours.Changes = append(c.ours.Changes, ourroles.Change{Kind: kind, Namespace: namespace, Name: name, Object: ours})
}

// likeTheirs converts a value of theirs to ours, by way of JSON.
func likeTheirs[T any](v any) *T {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

type policyDice struct{ *rand.Rand }

func (d policyDice) one(words ...string) string { return words[d.IntN(len(words))] }

func (d policyDice) some(least int, words ...string) []string {
	var out []string
	for range least + d.IntN(3) {
		out = append(out, d.one(words...))
	}
	return out
}

var (
	policyVerbs     = []string{"get", "list", "create", "bind", "*", "polish"}
	policyGroups    = []string{"", "apps", "*"}
	policyResources = []string{"pods", "pods/log", "*/log", "*", "log", "nodes", "pods/", "a/b/c", "*/b/c", "*/*"}
	policyPaths     = []string{"/", "/a", "/a/b", "/a*", "/a/*", "*", "/ab", "/a**", ""}
	policyNames     = []string{"a", "b", "c", "é\"", "system:x"}
	policySpaces    = []string{"one", "two"}
)

func (d policyDice) rules() (rules []k8srbac.PolicyRule) {
	for range 1 + d.IntN(4) {
		r := k8srbac.PolicyRule{Verbs: d.some(2, policyVerbs...)}
		if d.IntN(4) > 0 {
			r.APIGroups, r.Resources = d.some(1, policyGroups...), d.some(2, policyResources...)
		}
		if d.IntN(3) == 0 {
			r.NonResourceURLs = d.some(1, policyPaths...)
		}
		if d.IntN(3) == 0 {
			r.ResourceNames = d.some(1, policyNames...)
		}
		rules = append(rules, r)
	}
	return rules
}

func (d policyDice) subjects() (subjects []k8srbac.Subject) {
	for range 1 + d.IntN(4) {
		s := k8srbac.Subject{Kind: d.one("User", "Group", "ServiceAccount", "Odd"), Name: d.one("alice", "dev", "bot", "x\"y", "system:serviceaccount:one:bot")}
		if s.Kind == "ServiceAccount" {
			s.Namespace = d.one("", "one", "two")
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// cluster makes a cluster. Its bindings are sorted by name, the order in which our authorizer
// visits them.
func (d policyDice) cluster() *cluster {
	c := &cluster{ours: ourroles.Update{Whole: true, Mark: true}}
	for _, name := range policyNames {
		if d.IntN(4) > 0 {
			r := &k8srbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: d.rules()}
			c.clusterRoles = append(c.clusterRoles, r)
			c.add(ourroles.ClusterRole, "", name, r)
		}
		if d.IntN(2) > 0 {
			b := &k8srbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: d.subjects(), RoleRef: d.ref()}
			c.clusterRoleBindings = append(c.clusterRoleBindings, b)
			c.add(ourroles.ClusterRoleBinding, "", name, b)
		}
		for _, space := range policySpaces {
			m := metav1.ObjectMeta{Namespace: space, Name: name}
			if d.IntN(4) > 0 {
				r := &k8srbac.Role{ObjectMeta: m, Rules: d.rules()}
				c.roles = append(c.roles, r)
				c.add(ourroles.Role, space, name, r)
			}
			if d.IntN(3) > 0 {
				b := &k8srbac.RoleBinding{ObjectMeta: m, Subjects: d.subjects(), RoleRef: d.ref()}
				c.roleBindings = append(c.roleBindings, b)
				c.add(ourroles.RoleBinding, space, name, b)
			}
		}
	}
	byName := func(a, b metav1.Object) int { return strings.Compare(a.GetName(), b.GetName()) }
	slices.SortFunc(c.roleBindings, func(a, b *k8srbac.RoleBinding) int { return byName(a, b) })
	slices.SortFunc(c.clusterRoleBindings, func(a, b *k8srbac.ClusterRoleBinding) int { return byName(a, b) })
	return c
}

func (d policyDice) ref() k8srbac.RoleRef {
	return k8srbac.RoleRef{APIGroup: k8srbac.GroupName, Kind: d.one("Role", "ClusterRole", "ClusterRole", "Role", "Odd"), Name: d.one(policyNames...)}
}

// question makes up a request for both sides.
func (d policyDice) question() (request.Attributes, authorizer.AttributesRecord) {
	name := d.one("alice", "bob", "dev", "x\"y", "system:serviceaccount:one:bot", "system:serviceaccount:two:bot")
	groups := d.some(0, "dev", "ops", "alice", "x\"y")
	ours := request.Attributes{
		User: &request.User{Name: name, Groups: groups}, IsResource: d.IntN(3) > 0, Verb: d.one(policyVerbs...), Group: d.one(policyGroups...),
		Resource: d.one("pods", "nodes", "log", "*", "a", "pods/"), Subresource: d.one("", "", "log", "b/c"), Name: d.one(append(policyNames, "")...),
		Namespace: d.one("", "one", "two", "none"), Path: d.one(policyPaths...),
	}
	theirs := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: name, Groups: groups}, ResourceRequest: ours.IsResource, Verb: ours.Verb, APIGroup: ours.Group,
		Resource: ours.Resource, Subresource: ours.Subresource, Name: ours.Name, Namespace: ours.Namespace, Path: ours.Path,
	}
	return ours, theirs
}

var sameDecision = map[authorizer.Decision]request.Decision{
	authorizer.DecisionAllow: request.Allow, authorizer.DecisionDeny: request.Deny, authorizer.DecisionNoOpinion: request.NoOpinion,
}

// TestDecisionsByRoles compares, for 50,000 random questions, the decisions with their reasons, the
// rules of the user, and the escalation checks.
func TestDecisionsByRoles(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(500) {
		d := policyDice{rand.New(rand.NewPCG(seed, 13))}
		c := d.cluster()
		theirs, resolver, ours := theirroles.New(c, c, c, c), validation.NewDefaultRuleResolver(c, c, c, c), ourroles.New(c)
		for range 100 {
			q, k := d.question()
			want, wantReason, _ := theirs.Authorize(t.Context(), k)
			got, reason, err := ours.Authorize(t.Context(), &q)
			if err != nil || got != sameDecision[want] || reason != wantReason {
				t.Fatalf("seed %d: %+v: got %v %q %v, want %v %q", seed, k, got, reason, err, sameDecision[want], wantReason)
			}
			seen[fmt.Sprint("decision ", got, reason != "")]++

			rules, rulesErr := resolver.RulesFor(t.Context(), k.User, k.Namespace)
			held, _, heldErr := ours.RulesFor(t.Context(), q.User, q.Namespace)
			if !sameErrors(heldErr, rulesErr) || len(held) != len(rules) {
				t.Fatalf("seed %d: rules of %+v: got %v %v, want %v %v", seed, k, held, heldErr, rules, rulesErr)
			}
			for i := range rules {
				if !reflect.DeepEqual(held[i], *likeTheirs[rbacv1.PolicyRule](rules[i])) {
					t.Fatalf("seed %d: rules of %+v: got %v, want %v", seed, k, held[i], rules[i])
				}
			}

			wanted := d.rules()
			ctx := k8srequest.WithNamespace(k8srequest.WithUser(t.Context(), k.User), k.Namespace)
			refusal := validation.ConfirmNoEscalation(ctx, resolver, wanted)
			var given []rbacv1.PolicyRule
			for i := range wanted {
				given = append(given, *likeTheirs[rbacv1.PolicyRule](wanted[i]))
			}
			if err := rbac.EscalationError(t.Context(), q.User, held, heldErr, given); !sameErrors(err, refusal) {
				t.Fatalf("seed %d: %v gives away %v: got %v, want %v", seed, k.User, wanted, err, refusal)
			}
			seen[fmt.Sprint("refused ", refusal != nil)]++
		}
	}
	for what, n := range seen {
		t.Log(what, n)
		if n < 2000 {
			t.Errorf("%s: only %d", what, n)
		}
	}
}

func sameErrors(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

// TestBootstrapPolicy compares the roles and bindings that every cluster has.
func TestBootstrapPolicy(t *testing.T) {
	p := rbac.Bootstrap()
	var ours, theirs []any
	for _, r := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		theirs = append(theirs, likeTheirs[rbacv1.ClusterRole](r))
	}
	for _, b := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		theirs = append(theirs, likeTheirs[rbacv1.ClusterRoleBinding](b))
	}
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, r := range roles {
			theirs = append(theirs, likeTheirs[rbacv1.Role](r))
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, b := range bindings {
			theirs = append(theirs, likeTheirs[rbacv1.RoleBinding](b))
		}
	}
	for _, r := range p.ClusterRoles {
		ours = append(ours, r)
	}
	for _, b := range p.ClusterRoleBindings {
		ours = append(ours, b)
	}
	for _, r := range p.Roles {
		ours = append(ours, r)
	}
	for _, b := range p.RoleBindings {
		ours = append(ours, b)
	}
	text := func(objs []any) (list []string) {
		for _, obj := range objs {
			data, err := json.Marshal(likeTheirs[map[string]any](obj))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%T %s", obj, data))
		}
		slices.Sort(list)
		return list
	}
	got, want := text(ours), text(theirs)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("got %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("want %s", line)
		}
	}
}
