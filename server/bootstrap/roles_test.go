package bootstrap_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestBootstrapRoles: the roles exist at the start, deleted ones are made again, changed ones are
// mended unless their annotation forbids it, and aggregated roles have the rules of others.
func TestBootstrapRoles(t *testing.T) {
	store := newShared(t)
	start := func(t *testing.T) *servertest.Server {
		return servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: store}})
	}
	ctx := t.Context()
	t.Run("change", func(t *testing.T) {
		c := start(t).Server.Client()
		roles := client.For[*rbacv1.ClusterRole](c, rbacv1.GroupVersion.WithResource("clusterroles"))
		bindings := client.For[*rbacv1.ClusterRoleBinding](c, rbacv1.GroupVersion.WithResource("clusterrolebindings"))
		for _, name := range []string{"admin", "edit", "view"} {
			appears(t, roles, name, func(r *rbacv1.ClusterRole) bool { return len(r.Rules) > 0 })
		}
		if _, err := roles.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: meta.ObjectMeta{Name: "ships", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
			Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"quay"}, Resources: []string{"ships"}}},
		}, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		hasShips := func(r *rbacv1.ClusterRole) bool {
			return strings.Contains(fmt.Sprint(r.Rules), "ships")
		}
		appears(t, roles, "view", hasShips)
		appears(t, roles, "admin", hasShips) // admin aggregates edit, which aggregates the role
		if err := roles.Delete(ctx, "ships", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		appears(t, roles, "admin", func(r *rbacv1.ClusterRole) bool { return !hasShips(r) })

		patch := func(what error) {
			t.Helper()
			if what != nil {
				t.Fatal(what)
			}
		}
		_, err := roles.Patch(ctx, "system:discovery", client.MergePatch, []byte(`{"metadata":{"labels":{"kubernetes.io/bootstrapping":null,"mine":"a"}},"rules":[{"verbs":["get"],"nonResourceURLs":["/mine"]}]}`), meta.PatchOptions{})
		patch(err)
		_, err = roles.Patch(ctx, "system:basic-user", client.MergePatch, []byte(`{"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}},"rules":null}`), meta.PatchOptions{})
		patch(err)
		_, err = bindings.Patch(ctx, "system:discovery", client.MergePatch, []byte(`{"subjects":[{"kind":"User","name":"mine"}]}`), meta.PatchOptions{})
		patch(err)
		patch(bindings.Delete(ctx, "system:basic-user", meta.DeleteOptions{}))
		patch(bindings.Delete(ctx, "system:monitoring", meta.DeleteOptions{}))
		_, err = bindings.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta.ObjectMeta{Name: "system:monitoring"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"},
		}, meta.CreateOptions{})
		patch(err)
	})
	t.Run("restart", func(t *testing.T) {
		s := start(t)
		roles := client.For[*rbacv1.ClusterRole](s.Server.Client(), rbacv1.GroupVersion.WithResource("clusterroles"))
		bindings := client.For[*rbacv1.ClusterRoleBinding](s.Server.Client(), rbacv1.GroupVersion.WithResource("clusterrolebindings"))
		get := func(name string) *rbacv1.ClusterRole {
			r, err := roles.Get(ctx, name, meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		bound := func(name string) *rbacv1.ClusterRoleBinding {
			b, err := bindings.Get(ctx, name, meta.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		if r := get("system:discovery"); r.Labels["mine"] != "a" || r.Labels["kubernetes.io/bootstrapping"] != "rbac-defaults" || r.Rules[0].NonResourceURLs[0] != "/mine" || len(r.Rules) < 5 {
			t.Errorf("got %+v, want the changes by a client and the missing rules", r)
		}
		if r := get("system:basic-user"); r.Rules != nil {
			t.Errorf("got %v, want a role that is left alone", r.Rules)
		}
		if b := bound("system:discovery"); len(b.Subjects) != 2 || b.Subjects[0].Name != "mine" {
			t.Errorf("got %v, want who is mine and who was missing", b.Subjects)
		}
		if b := bound("system:monitoring"); b.RoleRef.Name != "system:monitoring" || len(b.Subjects) != 1 {
			t.Errorf("got %+v, want it made anew", b)
		}
		bound("system:basic-user")
		if resp, err := s.Anonymous().Get(s.URL + "/version"); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the version, for strangers: got %v, %v", resp, err)
		} else {
			resp.Body.Close()
		}
	})
}
