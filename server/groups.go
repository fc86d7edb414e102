package server

import (
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/generic"
	"go.uber.org/zap"
)

// groups returns all groups that the server may serve: the configured ones, and Kubernetes' own. If
// APIConfig.Core is off, a group of Kubernetes remains only if authorization needs it (see needs)
// and no configured group has its name.
func (c *completed) groups(around surroundings) []Group {
	groups := coreGroups(c.API, around)
	if !c.API.Core {
		groups = slices.DeleteFunc(groups, func(g Group) bool {
			configured := slices.ContainsFunc(c.API.Groups, func(own Group) bool { return own.Name == g.Name })
			return configured || !c.needs(g.Name)
		})
	}
	for i := range groups {
		groups[i].BuiltIn = true
	}
	return append(groups, c.API.Groups...)
}

// needs reports whether a server without APIConfig.Core serves this group of Kubernetes
// nevertheless: the RBAC group if RBAC authorizes, and the groups of TokenReview and
// SubjectAccessReview if requests are authorized at all.
func (c *completed) needs(group string) bool {
	switch group {
	case rbacv1.GroupVersion.Group:
		return c.access.Has(access.RBAC)
	case authenticationv1.GroupVersion.Group, authorizationv1.GroupVersion.Group:
		return c.access.CanDeny()
	}
	return false
}

// warnOfNamespaces warns in the log if namespaced resources are served but Namespaces are not:
// nobody then checks that a namespace exists, and no controller deletes the objects of a namespace.
func warnOfNamespaces(groups []Group, t *generic.Table, log *zap.Logger) {
	namespaced := func(g Group) bool {
		return slices.ContainsFunc(g.Resources, func(r registry.Resource) bool { return r.Namespaced })
	}
	if t.Find(meta.GroupResource{Resource: "namespaces"}) == nil && slices.ContainsFunc(groups, namespaced) {
		log.Warn("there are no namespaces here: objects are stored in any namespace that a client names; set API.Core to serve namespaces")
	}
}
