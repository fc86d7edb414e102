package rbac

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// granted is an authorizer for one user. rights are allowed requests, as "verb
// resource/namespace/name". It also has the rules that the user holds.
type granted struct {
	rights []string
	rules  []rbacv1.PolicyRule
}

func (g granted) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	if a.Group == rbacv1.GroupVersion.Group && slices.Contains(g.rights, a.Verb+" "+a.Resource+"/"+a.Namespace+"/"+a.Name) {
		return request.Allow, "", nil
	}
	return request.NoOpinion, "", nil
}

func (g granted) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return g.rules, false, errors.New("a role is missing")
}

// stored has the stores of the group's resources, without guards.
type stored map[meta.GroupResource]*registry.Store

func (s stored) Store(gr meta.GroupResource) *registry.Store { return s[gr] }

func newStored(t *testing.T) stored {
	t.Helper()
	types := scheme.New()
	rbacv1.Scheme.AddToScheme(types)
	if err := types.Complete(); err != nil {
		t.Fatal(err)
	}
	engine := memory.New(memory.Config{})
	objects := cache.New(engine, cache.Config{})
	t.Cleanup(func() { objects.Close(); engine.Close() })
	codecs := codec.NewFactory(types)
	cfg := &registry.Config{Kinds: kind.NewTypes(types, codecs), Codecs: codecs, Cache: objects, Leases: storage.NewLeases(engine, nil), Now: time.Now}
	all := stored{}
	for _, res := range Resources(Config{}) {
		store, err := registry.New(cfg, res)
		if err != nil {
			t.Fatal(err)
		}
		all[res.GroupResource] = store
	}
	return all
}

func (s stored) create(t *testing.T, resourceName, namespace string, obj meta.Object) {
	t.Helper()
	_, err := s[resource(resourceName)].Create(request.NewContext(t.Context(), &request.Info{}), &request.Write{
		Namespace: namespace, Version: "v1", Options: &meta.CreateOptions{},
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj.(meta.Typed), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEachGuard writes roles and bindings that give more than the user holds. With the verb
// escalate or bind on the object the write is allowed. With the verbs on anything else it is
// refused.
func TestEachGuard(t *testing.T) {
	all := newStored(t)
	const secrets = `"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]`
	all.create(t, "roles", "ns", checktest.Decode[rbacv1.Role](t, `{"metadata":{"name":"r","namespace":"ns"},`+secrets+`}`))
	all.create(t, "clusterroles", "", checktest.Decode[rbacv1.ClusterRole](t, `{"metadata":{"name":"r"},`+secrets+`}`))
	binds := func(kind, name string) string {
		return `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` + kind + `","name":"` + name + `"}}`
	}
	role := func(text string) meta.Object { return checktest.Decode[rbacv1.Role](t, text) }
	clusterRole := func(text string) meta.Object { return checktest.Decode[rbacv1.ClusterRole](t, text) }
	binding := func(text string) meta.Object { return checktest.Decode[rbacv1.RoleBinding](t, text) }
	clusterBinding := func(text string) meta.Object { return checktest.Decode[rbacv1.ClusterRoleBinding](t, text) }
	rights := []string{"escalate roles/ns/r", "escalate clusterroles//r", "bind roles/ns/r", "bind clusterroles/ns/r", "bind clusterroles//r"}
	const grants, aggregates = "is attempting to grant RBAC permissions not currently held", "must have cluster-admin privileges"
	for _, tt := range []struct {
		kind, namespace string
		decode          func(string) meta.Object
		text, right     string
		refused         string
	}{
		{"Role", "ns", role, `{"metadata":{"name":"r"},` + secrets + `}`, "escalate roles/ns/r", grants},
		{"ClusterRole", "", clusterRole, `{"metadata":{"name":"r"},` + secrets + `}`, "escalate clusterroles//r", grants},
		{"ClusterRole", "", clusterRole, `{"metadata":{"name":"r"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`,
			"escalate clusterroles//r", aggregates},
		{"RoleBinding", "ns", binding, binds("Role", "r"), "bind roles/ns/r", grants},
		{"RoleBinding", "ns", binding, binds("ClusterRole", "r"), "bind clusterroles/ns/r", grants},
		{"ClusterRoleBinding", "", clusterBinding, binds("ClusterRole", "r"), "bind clusterroles//r", grants},
	} {
		write := func(user *request.User, has granted) error {
			r := checktest.Resource(t, Resources(Config{Access: has, Rules: has, Stores: all}), tt.kind)
			return r.Guard(t.Context(), &registry.Request{User: user, Namespace: tt.namespace, Name: "r"}, tt.decode(tt.text), nil)
		}
		alice := &request.User{Name: "alice"}
		everything := granted{rules: []rbacv1.PolicyRule{
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
		}}
		for name, err := range map[string]error{
			"with " + tt.right:    write(alice, granted{rights: []string{tt.right}}),
			"who holds it all":    write(alice, everything),
			"in system:masters":   write(&request.User{Name: "root", Groups: []string{request.GroupMasters}}, granted{}),
			"with all the rights": write(alice, granted{rights: rights}),
		} {
			if err != nil {
				t.Errorf("%s by a user %s: %v", tt.text, name, err)
			}
		}
		others := slices.DeleteFunc(slices.Clone(rights), func(right string) bool { return right == tt.right })
		for name, err := range map[string]error{
			"without rights":      write(alice, granted{}),
			"without " + tt.right: write(alice, granted{rights: others}),
			"who holds some of it": write(alice, granted{rules: []rbacv1.PolicyRule{
				{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
				{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"secrets"}},
				{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"one"}},
			}}),
		} {
			if !meta.IsForbidden(err) || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s by a user %s: got %v, want it forbidden: %s", tt.text, name, err, tt.refused)
			}
		}
	}
}
