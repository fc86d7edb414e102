// Package rbac declares the resources of rbac.authorization.k8s.io and guards their writes, so that
// nobody can give away rights that they do not have.
//
// Words. A role is a list of rules; a rule allows verbs on resources or on paths. A binding gives
// the rights of a role to subjects. A right is one verb on one resource or path, and at most one
// name: the smallest part of a rule. Escalation is a write that gives rights which its user does
// not hold.
//
// Laws, kept by guard.go:
//
//   - The user who writes a role holds all rights of the role, or has the verb "escalate" on it.
//   - The user who writes a binding holds all rights that the binding gives, or has the verb "bind"
//     on its role.
//   - The role of a binding never changes.
//   - Members of system:masters may write everything; so may anybody if Config.Access is nil.
//
// All four resources may be created by PUT, and have any name that is one segment of a path: names
// such as "system:node" have a meaning of their own.
//
// A server makes its stores from Resources. The guards run in the write pipeline (registry), for
// many requests at once. server/bootstrap calls Bootstrap and MissingRights when a cluster starts.
//
// Not here: the verbs (registry), types and defaults (scheme/api/rbacv1), authorization by roles
// (filters/authz/rbac), the creation of bootstrap roles (server/bootstrap), aggregated cluster
// roles (server/loops/accounts).
//
// Read: doc.go, role.go, binding.go, guard.go, cover.go, bootstrap.go.
package rbac

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Config is what the guards of roles and bindings need from the server.
type Config struct {
	// Access authorizes the verbs escalate and bind. nil: writes are not guarded.
	Access request.Authorizer
	// Rules lists the rules that a user holds.
	Rules request.RuleResolver
	// Stores holds the roles that bindings refer to.
	Stores registry.Stores
}

// Resources returns the declarations of the four resources of the group.
func Resources(c Config) []registry.Resource {
	return []registry.Resource{clusterRoleBindings(c), clusterRoles(c), roleBindings(c), roles(c)}
}

// resource returns a resource of the group by its plural name.
func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: rbacv1.GroupVersion.Group, Resource: name}
}

// anyName is the rule for names, and for the prefixes that generateName has: one segment of a path.
func anyName(name string, _ bool) []string { return names.IsPathSegmentName(name) }
