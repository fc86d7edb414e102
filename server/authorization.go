package server

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/filters/authz"
	"github.com/coracle-project/coracle/router/request"
)

// authorization decides who may do what.
type authorization struct {
	request.Authorizer
	request.RuleResolver
	reg   *prometheus.Registry
	graph *authz.NodeGraph // nil without the mode Node
}

// newAuthorization lets system:masters do everything, then asks the configured authorizer, then those of the modes in their order.
func newAuthorization(c AuthorizationConfig, reg *prometheus.Registry) (*authorization, error) {
	a := &authorization{reg: reg}
	all := []request.Authorizer{authz.Privileged(request.GroupMasters)}
	if c.Authorizer != nil {
		all = append(all, c.Authorizer)
	}
	for _, mode := range c.Modes {
		next, err := authorizers[mode](a)
		if err != nil {
			return nil, fmt.Errorf("server: authorization mode %s: %w", mode, err)
		}
		all = append(all, next)
	}
	a.Authorizer, a.RuleResolver = authz.Union(all...), authz.Rules(all...)
	return a, nil
}

// start has the server do what the authorizers need.
func (a *authorization) start(s *Server) error {
	if a.graph == nil {
		return nil
	}
	return s.addNodeGraph(a.graph)
}

// authorizers make the authorizers of the modes.
var authorizers = map[string]func(a *authorization) (request.Authorizer, error){
	AuthorizeAlways:     ready(authz.AlwaysAllow),
	AuthorizeNever:      ready(authz.AlwaysDeny),
	AuthorizePrivileged: ready(authz.Discovery),
	AuthorizeNode:       (*authorization).node,
}

// ready makes an authorizer that needs nothing.
func ready(make func() request.Authorizer) func(*authorization) (request.Authorizer, error) {
	return func(*authorization) (request.Authorizer, error) { return make(), nil }
}

func (a *authorization) node() (request.Authorizer, error) {
	var err error
	if a.graph == nil {
		a.graph, err = newNodeGraph(a.reg)
	}
	return authz.NewNode(a.graph), err
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
