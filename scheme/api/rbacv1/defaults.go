package rbacv1

import "github.com/coracle-project/coracle/scheme"

func defaultRoleRef(r *RoleRef) { scheme.SetDefault(&r.APIGroup, GroupVersion.Group) }

func defaultSubject(s *Subject) {
	if s.Kind == UserKind || s.Kind == GroupKind {
		scheme.SetDefault(&s.APIGroup, GroupVersion.Group)
	}
}
