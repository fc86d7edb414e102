package rbac

import (
	"context"
	"errors"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// RulesFor implements request.RuleResolver. The rules are in the order in which decisions look at
// them. The error names the roles that do not exist.
func (a *Authorizer) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) ([]rbacv1.PolicyRule, bool, error) {
	x, err := a.index(ctx)
	if err != nil {
		return nil, false, err
	}
	var rules []rbacv1.PolicyRule
	var missing []string
	for b := range x.bindingsOf(user, namespace) {
		if role := x.roleOf(b); role != nil {
			rules = append(rules, role.rules...)
		} else {
			missing = append(missing, b.missing)
		}
	}
	if len(missing) > 0 {
		err = errors.New(aggregate(missing))
	}
	return rules, false, err
}

// missing returns the messages about roles that the user's bindings refer to and that do not exist.
func (x *index) missing(user *request.User, namespace string) []string {
	var texts []string
	for b := range x.bindingsOf(user, namespace) {
		if x.roleOf(b) == nil {
			texts = append(texts, b.missing)
		}
	}
	return texts
}

// bindingsOf yields the user's bindings, each once: those of the cluster, then those of the
// namespace.
func (x *index) bindingsOf(user *request.User, namespace string) func(yield func(*binding) bool) {
	return func(yield func(*binding) bool) {
		for _, scope := range []string{"", namespace} {
			for _, b := range x.scopes[scope].bindingsOf(user) {
				if !yield(b) {
					return
				}
			}
			if namespace == "" {
				return
			}
		}
	}
}

// bindingsOf returns the user's bindings in one scope, sorted, each once.
func (s *scope) bindingsOf(user *request.User) []*binding {
	if s == nil {
		return nil
	}
	grants := slices.Clone(s.users[user.Name])
	for _, group := range user.Groups {
		grants = append(grants, s.groups[group]...)
	}
	slices.SortFunc(grants, (*grant).order)
	list := make([]*binding, 0, len(grants))
	for _, g := range grants {
		list = append(list, g.binding)
	}
	return slices.Compact(list)
}
