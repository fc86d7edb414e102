package rbacv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&Role{}, &RoleList{},
		&ClusterRole{}, &ClusterRoleList{},
		&RoleBinding{}, &RoleBindingList{},
		&ClusterRoleBinding{}, &ClusterRoleBindingList{},
	)
	scheme.AddDefaulting(s, defaultRoleRef, "apiGroup")
	scheme.AddDefaulting(s, defaultSubject, "apiGroup | kind=ServiceAccount")
	addStored(s)
})
