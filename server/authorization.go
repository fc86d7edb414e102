package server

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// newAuthorizer lets system:masters do everything, then asks the configured authorizer, then those of the modes in their order.
func newAuthorizer(c AuthorizationConfig) request.Authorizer {
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if c.Authorizer != nil {
		all = append(all, c.Authorizer)
	}
	for _, mode := range c.Modes {
		all = append(all, authorizers[mode]())
	}
	return authz.Union(all...)
}

// authorizers make the authorizers of the modes.
var authorizers = map[string]func() request.Authorizer{
	AuthorizeAlways:     authz.AlwaysAllow,
	AuthorizeNever:      authz.AlwaysDeny,
	AuthorizePrivileged: authz.Discovery,
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
