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

// groups are all that may be served: Kubernetes' own, if they are wanted, else those of them that
// authorization needs, and the configured ones.
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

// needs reports whether a server that does not serve Kubernetes' own groups serves this one of them
// all the same: roles, if they decide, and the reviews that tell a client who it is and what it may
// do, if anybody decides.
func (c *completed) needs(group string) bool {
	switch group {
	case rbacv1.GroupVersion.Group:
		return c.access.Has(access.RBAC)
	case authenticationv1.GroupVersion.Group, authorizationv1.GroupVersion.Group:
		return c.access.Judges()
	}
	return false
}

// warnOfNamespaces says in the log that objects are in namespaces of which there are none: nobody
// looks whether a namespace exists, and what is in one does not go with it.
func warnOfNamespaces(groups []Group, t *generic.Table, log *zap.Logger) {
	namespaced := func(g Group) bool {
		return slices.ContainsFunc(g.Resources, func(r registry.Resource) bool { return r.Namespaced })
	}
	if t.Find(meta.GroupResource{Resource: "namespaces"}) == nil && slices.ContainsFunc(groups, namespaced) {
		log.Warn("there are no namespaces here: objects are stored in any namespace that a client names; API.Core serves namespaces")
	}
}
