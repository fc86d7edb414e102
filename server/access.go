package server

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/server/identity"
)

// access is who asks and what they may do, for resources that answer such questions or depend on them. These are declared
// before there is an answer; build fills access in, before anybody can ask.
type access struct {
	tokens    request.TokenAuthenticator
	audiences []string // of the server
	judge     request.Authorizer
	rules     request.RuleResolver // of all who decide and can tell
	roles     request.RuleResolver // of roles alone, whoever decides; nil: there are none
	issuer    *identity.Accounts
}

// AuthenticateToken implements request.TokenAuthenticator. A token that is asked about for no audience is to be for the server.
func (a *access) AuthenticateToken(ctx context.Context, token string, audiences []string) (*request.User, []string, error) {
	if len(audiences) == 0 {
		audiences = a.audiences
	}
	return a.tokens.AuthenticateToken(ctx, token, audiences)
}

// Authorize implements request.Authorizer.
func (a *access) Authorize(ctx context.Context, attributes *request.Attributes) (request.Decision, string, error) {
	return a.judge.Authorize(ctx, attributes)
}

// RulesFor implements request.RuleResolver. Where nobody decides by rules there is no telling them.
func (a *access) RulesFor(ctx context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	if a.rules == nil {
		return nil, true, nil
	}
	return a.rules.RulesFor(ctx, user, namespace)
}
