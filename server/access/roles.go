package access

import (
	"context"
	"errors"
	"slices"

	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// This file reads the roles and bindings for the mode RBAC. The authorizer (filters/authz/rbac)
// calls Holds before each decision, and Read when something has changed.

// roleResources are the resources of roles and bindings, by the authorizer's kind.
var roleResources = [...]meta.GroupResource{
	rbac.Role:               {Group: rbacv1.GroupVersion.Group, Resource: "roles"},
	rbac.ClusterRole:        {Group: rbacv1.GroupVersion.Group, Resource: "clusterroles"},
	rbac.RoleBinding:        {Group: rbacv1.GroupVersion.Group, Resource: "rolebindings"},
	rbac.ClusterRoleBinding: {Group: rbacv1.GroupVersion.Group, Resource: "clusterrolebindings"},
}

// RoleResources returns the resources that the mode RBAC reads. They must be in one store.
func RoleResources() []meta.GroupResource { return slices.Clone(roleResources[:]) }

// errNoRoles is the error of a server that is configured for RBAC and does not serve roles.
var errNoRoles = errors.New("server: authorization mode RBAC needs the roles and bindings of " +
	"rbac.authorization.k8s.io/v1, which are not served")

// roleSource is the rbac.Source over the stores of roles. These stores live as long as the server.
type roleSource [len(roleResources)]*registry.Store

// roleMark is how far the authorizer has read each store.
type roleMark [len(roleResources)]registry.Position

// newRoles returns the RBAC authorizer, or nil unless the server serves all four resources.
func newRoles(stores registry.Stores) *rbac.Authorizer {
	var source roleSource
	for kind, gr := range roleResources {
		if source[kind] = stores.Store(gr); source[kind] == nil {
			return nil
		}
	}
	return rbac.New(&source)
}

// Holds implements rbac.Source: it reports whether none of the four resources has changed since
// mark. It costs a few atomic loads.
func (s *roleSource) Holds(mark any) bool {
	m := mark.(*roleMark)
	for kind, store := range s {
		if !store.Holds(m[kind]) {
			return false
		}
	}
	return true
}

// Read implements rbac.Source. It returns the state of all four resources at one revision. So if a
// user loses a role before the role gets a right, or gets a role after the role has lost a right,
// no decision gives the user that right. While the objects are being loaded again, because the
// watch of the store was lost, the last state stays in force.
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
		case least > 0 && len(changes) == 0: // all four have been read at the newest revision of the first round
			return u, nil
		}
		u.Changes = append(u.Changes, changes...)
		for _, position := range at {
			least = max(least, position.Revision())
		}
	}
}

// reloads reports whether one of the resources has to be loaded again. It asks each store, even
// after one has said yes, because the question starts the load.
func (s *roleSource) reloads(from *roleMark) bool {
	some := false
	for kind, store := range s {
		some = store.Reloads(from[kind]) || some
	}
	return some
}

// since returns the changes of all stores after at, as of the revision least or later, and advances
// at. If lost is true, changes may be missing, and the caller must read everything again.
func (s *roleSource) since(
	ctx context.Context, at *roleMark, least storage.Revision,
) (list []rbac.Change, lost bool, err error) {
	for kind, store := range s {
		changes, whole, next, err := store.ChangesSince(ctx, at[kind], least)
		if err != nil {
			return nil, false, err
		}
		lost = lost || whole && at[kind] != (registry.Position{})
		at[kind] = next
		for _, ch := range changes {
			change := rbac.Change{Kind: rbac.Kind(kind), Namespace: ch.Namespace, Name: ch.Name}
			if ch.Encoded != nil {
				if change.Object, err = store.Decode(ctx, ch.Encoded); ctx.Err() != nil {
					return nil, false, ctx.Err()
				} else if err != nil {
					change.Object = nil // an unreadable role grants nothing
				}
			}
			list = append(list, change)
		}
	}
	return list, lost, nil
}
