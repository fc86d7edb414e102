// Package rbac knows what is special about the resources of rbac.authorization.k8s.io: roles, which
// are lists of rights, and bindings, which give them to somebody. All may be created by PUT, and
// have any name that fits into a path, as names such as "system:node" have a meaning of their own.
//
// Who may write them may not therefore write all of them: guard.go sees to it that nobody gives
// away what they have not.
//
// Resources returns the declarations that a server makes stores from.
//
// Not here: the verbs (registry), types and defaults (scheme/api/rbacv1), who may do what
// (filters/authz/rbac).
package rbac

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Config is what the guards of roles and bindings ask.
type Config struct {
	// Access decides who may escalate and bind. nil: the resources are not guarded.
	Access request.Authorizer
	// Rules are those that users hold by roles.
	Rules  request.RuleResolver
	Stores registry.Stores
}

// Resources returns the resources of the group.
func Resources(c Config) []registry.Resource {
	return []registry.Resource{clusterRoleBindings(c), clusterRoles(c), roleBindings(c), roles(c)}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: rbacv1.GroupVersion.Group, Resource: name}
}

// anyName is the rule for names, and the same for those that names are made from.
func anyName(name string, _ bool) []string { return names.IsPathSegmentName(name) }
