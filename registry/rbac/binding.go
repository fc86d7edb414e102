package rbac

import (
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// roleBindings declares the resource rolebindings.
func roleBindings(c Config) registry.Resource {
	return registry.Typed(registry.ResourceOf[*rbacv1.RoleBinding]{
		GroupResource: resource("rolebindings"),
		Kind:          "RoleBinding",
		Guard:         guarded(c, guardRoleBinding),
		Namespaced:    true,
		Strategy: registry.StrategyOf[*rbacv1.RoleBinding]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             anyName,
			Validate:                 checkRoleBinding,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*rbacv1.RoleBinding]{
			Columns: bindingColumns,
			Cells: func(b *rbacv1.RoleBinding, now time.Time) []any {
				return bindingCells(&b.ObjectMeta, &b.RoleRef, b.Subjects, now)
			},
		},
	})
}

// clusterRoleBindings declares the resource clusterrolebindings.
func clusterRoleBindings(c Config) registry.Resource {
	return registry.Typed(registry.ResourceOf[*rbacv1.ClusterRoleBinding]{
		GroupResource: resource("clusterrolebindings"),
		Kind:          "ClusterRoleBinding",
		Guard:         guarded(c, guardClusterRoleBinding),
		Strategy: registry.StrategyOf[*rbacv1.ClusterRoleBinding]{
			Metadata:                 registry.MetaWhole,
			ValidateName:             anyName,
			Validate:                 checkClusterRoleBinding,
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
		},
		Table: &registry.TableOf[*rbacv1.ClusterRoleBinding]{
			Columns: bindingColumns,
			Cells: func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
				return bindingCells(&b.ObjectMeta, &b.RoleRef, b.Subjects, now)
			},
		},
	})
}

// bindingColumns are the columns of both resources of bindings. Priority 1: shown by `kubectl get
// -o wide` only.
var bindingColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("Role", "Kind and name of the role whose rights are given.", 0),
	registry.AgeColumn,
	registry.Column("Users", "Users that get the rights.", 1),
	registry.Column("Groups", "Groups that get the rights.", 1),
	registry.Column("ServiceAccounts", "Service accounts that get the rights.", 1),
}

// bindingCells returns the cells of a table's row.
func bindingCells(m *meta.ObjectMeta, ref *rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{
		m.Name, ref.Kind + "/" + ref.Name, registry.Age(m, now),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

// checkRoleBinding validates a role binding. It may refer to a role of its namespace, or to a
// cluster role, whose rights it gives in its namespace only.
func checkRoleBinding(b, old *rbacv1.RoleBinding) field.ErrorList {
	errs := checkRoleRef(&b.RoleRef, "Role", "ClusterRole")
	errs = append(errs, checkSubjects(b.Subjects, true)...)
	if old != nil {
		errs = append(errs, sameRole(&b.RoleRef, &old.RoleRef)...)
	}
	return errs
}

// checkClusterRoleBinding validates a cluster role binding.
func checkClusterRoleBinding(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	errs := checkRoleRef(&b.RoleRef, "ClusterRole")
	errs = append(errs, checkSubjects(b.Subjects, false)...)
	if old != nil {
		errs = append(errs, sameRole(&b.RoleRef, &old.RoleRef)...)
	}
	return errs
}

// checkRoleRef checks a reference to a role of one of the kinds. The role need not exist.
func checkRoleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	p := field.NewPath("roleRef")
	errs := check.Supported(p.Child("apiGroup"), ref.APIGroup, rbacv1.GroupVersion.Group)
	errs = append(errs, check.Supported(p.Child("kind"), ref.Kind, kinds...)...)
	return append(errs, check.Needed(p.Child("name"), ref.Name, check.PathSegment)...)
}

// sameRole refuses to change the role of a binding. So a user can be allowed to edit a binding's
// subjects without being able to choose which rights they get.
func sameRole(ref, old *rbacv1.RoleRef) field.ErrorList {
	if *ref == *old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), govalue.JSON(ref), "cannot change roleRef")}
}

// checkSubjects validates the subjects of a binding. There may be none.
func checkSubjects(subjects []rbacv1.Subject, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i, s := range field.Each(&errs, subjects) {
		errs = append(errs, checkSubject(field.NewPath("subjects").Index(i), s, namespaced)...)
	}
	return errs
}

// checkSubject validates a subject. In a binding with a namespace a service account may leave its
// namespace out; it is then one of the binding's namespace.
func checkSubject(p *field.Path, s *rbacv1.Subject, namespaced bool) field.ErrorList {
	errs := check.Required(p.Child("name"), s.Name)
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, check.DNSSubdomain(p.Child("name"), s.Name)...)
		}
		errs = append(errs, check.Supported(p.Child("apiGroup"), s.APIGroup, "")...)
		if !namespaced {
			errs = append(errs, check.Required(p.Child("namespace"), s.Namespace)...)
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, check.Supported(p.Child("apiGroup"), s.APIGroup, rbacv1.GroupVersion.Group)...)
	default:
		errs = append(errs, field.NotSupported(p.Child("kind"), s.Kind,
			[]string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}
