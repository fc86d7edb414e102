package rbac

import (
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry/check/checktest"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestBootstrap checks that all of bootstrap.txt is read, that its objects are valid, and that no
// object appears twice. test/differential compares them with Kubernetes' own.
func TestBootstrap(t *testing.T) {
	p := Bootstrap()
	if got, want := []int{len(p.ClusterRoles), len(p.ClusterRoleBindings), len(p.Roles), len(p.RoleBindings)}, []int{69, 50, 7, 7}; !slices.Equal(got, want) {
		t.Errorf("got %v objects, want %v", got, want)
	}
	seen := map[string]bool{}
	check := func(kind string, obj meta.Object) {
		m := obj.GetObjectMeta()
		if key := kind + "/" + m.Namespace + "/" + m.Name; seen[key] {
			t.Errorf("%s appears twice", key)
		} else {
			seen[key] = true
		}
		if errs := checktest.Resource(t, Resources(Config{}), kind).Strategy.Validate(obj, nil); len(errs) > 0 {
			t.Errorf("%s %s: %v", kind, m.Name, errs)
		}
	}
	for _, r := range p.ClusterRoles {
		check("ClusterRole", r)
	}
	for _, b := range p.ClusterRoleBindings {
		check("ClusterRoleBinding", b)
	}
	for _, r := range p.Roles {
		check("Role", r)
	}
	for _, b := range p.RoleBindings {
		check("RoleBinding", b)
	}
}
