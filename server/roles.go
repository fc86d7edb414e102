package server

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// The resources that roles and bindings are in.
var (
	roleResource               = rbacv1.GroupVersion.WithResource("roles")
	clusterRoleResource        = rbacv1.GroupVersion.WithResource("clusterroles")
	roleBindingResource        = rbacv1.GroupVersion.WithResource("rolebindings")
	clusterRoleBindingResource = rbacv1.GroupVersion.WithResource("clusterrolebindings")
)

// roleResources are those resources, by what the authorizer calls them.
var roleResources = [...]meta.GroupResource{
	rbac.Role:               roleResource.GroupResource(),
	rbac.ClusterRole:        clusterRoleResource.GroupResource(),
	rbac.RoleBinding:        roleBindingResource.GroupResource(),
	rbac.ClusterRoleBinding: clusterRoleBindingResource.GroupResource(),
}

// errNoRoles is what is wrong with a server that is to decide by roles and has none.
var errNoRoles = errors.New("server: authorization mode RBAC needs the roles and bindings of rbac.authorization.k8s.io/v1, which are not served")

// roleSource is the rbac.Source of the roles in stores, which are there as long as the server.
type roleSource [len(roleResources)]*registry.Store

// roleMark is how far the authorizer has read each store.
type roleMark [len(roleResources)]registry.Place

// newRoles returns the authorizer by roles, nil if the server has not all resources that it needs.
func newRoles(stores Stores) *rbac.Authorizer {
	var source roleSource
	for kind, gr := range roleResources {
		if source[kind] = stores.Store(gr); source[kind] == nil {
			return nil
		}
	}
	return rbac.New(&source)
}

// Holds implements rbac.Source.
func (s *roleSource) Holds(mark any) bool {
	m := mark.(*roleMark)
	for kind, store := range s {
		if !store.Holds(m[kind]) {
			return false
		}
	}
	return true
}

// Read implements rbac.Source. What it returns is the state of all four at one revision: a role is never seen with what it got after
// somebody lost it, or had before somebody got it. While the objects are being loaded again, because the store's watch was lost,
// what was known goes on to count.
func (s *roleSource) Read(ctx context.Context, mark any) (rbac.Update, error) {
	at := new(roleMark)
	if from, ok := mark.(*roleMark); ok {
		if s.reloads(from) {
			return rbac.Update{Mark: mark}, nil
		}
		*at = *from
	}
	u := rbac.Update{Whole: mark == nil, Mark: at}
	for least := storage.Revision(0); ; {
		changes, lost, err := s.since(ctx, at, least)
		switch {
		case err != nil:
			return u, err
		case lost:
			*at, least, u = roleMark{}, 0, rbac.Update{Whole: true, Mark: at}
			continue
		case least > 0 && len(changes) == 0: // the second look, at all that the first one has seen, has found nothing else
			return u, nil
		}
		u.Changes = append(u.Changes, changes...)
		for _, place := range at {
			least = max(least, place.Revision())
		}
	}
}

// reloads reports whether some resource is being loaded again.
func (s *roleSource) reloads(from *roleMark) bool {
	some := false
	for kind, store := range s {
		some = store.Reloads(from[kind]) || some
	}
	return some
}

// since reads what has changed after at, as of least or later, and moves it on. lost: more than that may have.
func (s *roleSource) since(ctx context.Context, at *roleMark, least storage.Revision) (list []rbac.Change, lost bool, err error) {
	for kind, store := range s {
		changes, whole, next, err := store.Since(ctx, at[kind], least)
		if err != nil {
			return nil, false, err
		}
		lost = lost || whole && at[kind] != (registry.Place{})
		at[kind] = next
		for _, ch := range changes {
			change := rbac.Change{Kind: rbac.Kind(kind), Namespace: ch.Namespace, Name: ch.Name}
			if ch.Encoded != nil {
				if change.Object, err = store.Decode(ctx, ch.Encoded); ctx.Err() != nil {
					return nil, false, ctx.Err()
				} else if err != nil {
					change.Object = nil // it grants nothing
				}
			}
			list = append(list, change)
		}
	}
	return list, lost, nil
}

// byRoles are the rules that roles alone give, whatever else decides.
type byRoles struct{ *access }

// RulesFor implements request.RuleResolver.
func (r byRoles) RulesFor(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	if r.roles == nil {
		return nil, false, nil
	}
	return r.roles.RulesFor(ctx, user, namespace)
}
