// Package authz decides what users may do: it holds the authorizers and the ways to combine them.
//
// Words: an Authorizer answers about one request (its Attributes) with a decision: allow, deny or
// no opinion. A Union asks several authorizers in turn. A RuleResolver lists a user's rights as
// rules. A webhook is an authorizer on another server; its conditions are CEL expressions that
// select the requests that it is asked about.
//
// Laws: in a Union the first authorizer with an opinion decides, and without any opinion the
// request is refused. Everything here is safe for concurrent use. Authorizers do not change once
// made, except for their caches (Webhook) and their knowledge of the cluster (NodeGraph, rbac).
//
// Package server makes the authorizers from flags or an AuthorizationConfiguration;
// filters.Authorize, impersonation and access reviews ask the result. Not here: who the user is
// (authn), the response to a refused user (filters), and where configuration files come from
// (server).
//
// Read authz.go; then node.go, nodegraph.go and nodeneeds.go for kubelets; webhook.go, review.go,
// answers.go and matcher.go for webhooks; configuration.go and configurationcheck.go; abac.go.
// Package rbac decides by roles.
package authz

import (
	"context"
	"errors"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// Func makes an Authorizer of a function.
type Func func(ctx context.Context, a *request.Attributes) (request.Decision, string, error)

// Authorize implements request.Authorizer.
func (f Func) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	return f(ctx, a)
}

// AlwaysAllow returns an authorizer that allows everything.
func AlwaysAllow() request.Authorizer { return alwaysAllow{} }

type alwaysAllow struct{}

// Authorize implements request.Authorizer.
func (alwaysAllow) Authorize(context.Context, *request.Attributes) (request.Decision, string, error) {
	return request.Allow, "", nil
}

// RulesFor implements request.RuleResolver.
func (alwaysAllow) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return everything, false, nil
}

// everything are the rules that allow every request.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// AlwaysDeny returns an authorizer that allows nothing. It has no opinion instead of denying, so in
// a Union it only adds its reason.
func AlwaysDeny() request.Authorizer {
	return Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
		return request.NoOpinion, "Everything is forbidden.", nil
	})
}

// Privileged returns an authorizer that allows everything to members of the given groups, usually
// system:masters, and has no opinion about others.
func Privileged(groups ...string) request.Authorizer {
	return Func(func(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
		if a.User != nil {
			for _, g := range groups {
				if a.User.InGroup(g) {
					return request.Allow, "", nil
				}
			}
		}
		return request.NoOpinion, "", nil
	})
}

// Union asks all authorizers in turn and takes the first opinion. If none has one, it returns their
// reasons, a line each, and their errors.
func Union(all ...request.Authorizer) request.Authorizer {
	if len(all) == 1 {
		return all[0]
	}
	return union(all)
}

type union []request.Authorizer

// Authorize implements request.Authorizer.
func (u union) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	var reasons []string
	var errs []error
	for _, authorizer := range u {
		decision, reason, err := authorizer.Authorize(ctx, a)
		if decision != request.NoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return request.NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}

// Rules returns a RuleResolver that joins the rules of those authorizers that are a
// request.RuleResolver as well.
func Rules(all ...request.Authorizer) request.RuleResolver {
	var r rules
	for _, authorizer := range all {
		if resolver, ok := authorizer.(request.RuleResolver); ok {
			r = append(r, resolver)
		}
	}
	return r
}

// rules are the resolvers that Rules joins.
type rules []request.RuleResolver

// RulesFor implements request.RuleResolver.
func (r rules) RulesFor(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	var all []rbacv1.PolicyRule
	var errs []error
	incomplete := false
	for _, resolver := range r {
		some, open, err := resolver.RulesFor(ctx, user, namespace)
		all, incomplete = append(all, some...), incomplete || open
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, incomplete, errors.Join(errs...)
}
