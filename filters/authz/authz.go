// Package authz decides what users may do.
//
// A request.Authorizer judges one request by its Attributes. Several are asked in turn by a Union: the first that does not
// pass decides, and where all pass nothing is allowed.
//
// Everything here is immutable once made and safe for concurrent use. Not here: who the user is (authn), the answer to
// those who may not (filters).
package authz

import (
	"context"
	"errors"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
)

// Func is an Authorizer that is a function.
type Func func(ctx context.Context, a *request.Attributes) (request.Decision, string, error)

// Authorize calls f.
func (f Func) Authorize(ctx context.Context, a *request.Attributes) (request.Decision, string, error) {
	return f(ctx, a)
}

// AlwaysAllow allows everything.
func AlwaysAllow() request.Authorizer { return alwaysAllow{} }

type alwaysAllow struct{}

func (alwaysAllow) Authorize(context.Context, *request.Attributes) (request.Decision, string, error) {
	return request.Allow, "", nil
}

// RulesFor implements request.RuleResolver.
func (alwaysAllow) RulesFor(context.Context, *request.User, string) ([]rbacv1.PolicyRule, bool, error) {
	return everything, false, nil
}

// everything is what who may do everything may do.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// AlwaysDeny leaves nothing allowed. It has no opinion rather than denying, so that it can end a Union.
func AlwaysDeny() request.Authorizer {
	return Func(func(context.Context, *request.Attributes) (request.Decision, string, error) {
		return request.NoOpinion, "Everything is forbidden.", nil
	})
}

// Privileged allows everything to members of the given groups, usually to system:masters, and passes on the rest.
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

// Union asks all in turn and takes the first decision. If there is none, it returns all reasons and errors.
func Union(all ...request.Authorizer) request.Authorizer {
	if len(all) == 1 {
		return all[0]
	}
	return union(all)
}

type union []request.Authorizer

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

// Rules returns what those of all that are a request.RuleResolver as well tell together.
func Rules(all ...request.Authorizer) request.RuleResolver {
	var r rules
	for _, authorizer := range all {
		if resolver, ok := authorizer.(request.RuleResolver); ok {
			r = append(r, resolver)
		}
	}
	return r
}

type rules []request.RuleResolver

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
