package server

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/filters/authz/rbac"
	"github.com/coracle-project/coracle/router/request"
)

// newAuthorizer lets system:masters do everything, then asks the configured authorizer, then those of the modes in their order. roles
// is nil if the server has none.
func newAuthorizer(c AuthorizationConfig, roles *rbac.Authorizer) (request.Authorizer, request.RuleResolver, error) {
	if roles == nil && slices.Contains(c.Modes, AuthorizeByRoles) {
		return nil, nil, errNoRoles
	}
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if c.Authorizer != nil {
		all = append(all, c.Authorizer)
	}
	var rules []request.RuleResolver
	for _, mode := range c.Modes {
		one := authorizers[mode](roles)
		all = append(all, one)
		if resolver, ok := one.(request.RuleResolver); ok {
			rules = append(rules, resolver)
		}
	}
	return authz.Union(all...), authz.Rules(rules...), nil
}

// authorizers make the authorizers of the modes. One that can tell its rules is a request.RuleResolver, too.
var authorizers = map[string]func(roles *rbac.Authorizer) request.Authorizer{
	AuthorizeAlways:  func(*rbac.Authorizer) request.Authorizer { return authz.AlwaysAllow() },
	AuthorizeNever:   func(*rbac.Authorizer) request.Authorizer { return authz.AlwaysDeny() },
	AuthorizeByRoles: func(roles *rbac.Authorizer) request.Authorizer { return roles },
}

func (c *AuthorizationConfig) validate() error {
	for i, mode := range c.Modes {
		if authorizers[mode] == nil {
			return fmt.Errorf("unknown authorization mode %q", mode)
		}
		if slices.Contains(c.Modes[:i], mode) {
			return fmt.Errorf("authorization mode %q is given twice", mode)
		}
	}
	return nil
}
