package access

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Promise gives resources access to authorization, to token authentication and to the signing of
// tokens. Resources are declared with a Promise, because authenticators and authorizers read
// resources and so are made later. Keep fulfils the Promise. Before that, every method that may
// return an error does so. A Promise is safe for concurrent use.
type Promise struct{ kept atomic.Pointer[Promised] }

// Promised is what fulfils a Promise.
type Promised struct {
	// Tokens authenticates tokens. Audiences are the server's: if a TokenReview names no audience,
	// the token must be for one of them.
	Tokens      request.TokenAuthenticator
	Audiences   []string
	Authorizers *Authorizers
	Issuer      Issuer
}

// Issuer signs tokens of service accounts. Sign makes a bound token and returns its ID as
// credential. Bounds returns the longest lifetime that a client may request, and the lifetime of
// tokens that kubelets request; 0 means no bound, and the requested lifetime.
type Issuer interface {
	Sign(ctx context.Context, t *core.AccountToken) (token, credential string, err error)
	Bounds() (longest, extended time.Duration)
}

// Keep fulfils the Promise. It must be called exactly once, before the server serves; a second call
// panics.
func (p *Promise) Keep(a Promised) {
	if !p.kept.CompareAndSwap(nil, &a) {
		panic("access: a promise is kept twice")
	}
}

// fulfilled returns what Keep has set. Before Keep it returns an error with code 503.
func (p *Promise) fulfilled() (*Promised, error) {
	if a := p.kept.Load(); a != nil {
		return a, nil
	}
	return nil, meta.NewServiceUnavailable("the server is starting: authorization is not ready yet")
}

// AuthenticateToken implements request.TokenAuthenticator. If audiences is empty, the token must be
// for one of the server's audiences.
func (p *Promise) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (user *request.User, among []string, err error) {
	a, err := p.fulfilled()
	if err != nil {
		return nil, nil, err
	}
	if len(audiences) == 0 {
		audiences = a.Audiences
	}
	return a.Tokens.AuthenticateToken(ctx, token, audiences)
}

// Authorize implements request.Authorizer.
func (p *Promise) Authorize(ctx context.Context, attributes *request.Attributes) (request.Decision, string, error) {
	a, err := p.fulfilled()
	if err != nil {
		return request.Deny, "", err
	}
	return a.Authorizers.Authorize(ctx, attributes)
}

// RulesFor implements request.RuleResolver: it returns the rules of all authorizers that can list
// theirs.
func (p *Promise) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	a, err := p.fulfilled()
	if err != nil {
		return nil, true, err
	}
	return a.Authorizers.RulesFor(ctx, user, namespace)
}

// Sign makes a bound token of a service account, with Promised.Issuer.
func (p *Promise) Sign(ctx context.Context, t *core.AccountToken) (token, credential string, err error) {
	a, err := p.fulfilled()
	if err != nil {
		return "", "", err
	}
	return a.Issuer.Sign(ctx, t)
}

// Bounds returns the longest lifetime that a client may request for a token of a service account, 0
// for no limit, and the lifetime of the tokens that kubelets request, 0 for the requested one.
// Before Keep both are 0, and nobody signs tokens.
func (p *Promise) Bounds() (longest, extended time.Duration) {
	a, err := p.fulfilled()
	if err != nil {
		return 0, 0
	}
	return a.Issuer.Bounds()
}

// Roles returns a resolver of the rules that RBAC grants, even if the mode RBAC is not configured.
// The check against privilege escalation asks it. A server that does not serve roles has no such
// rules.
func (p *Promise) Roles() request.RuleResolver { return byRoles{p} }

// byRoles is the resolver that Promise.Roles returns.
type byRoles struct{ promise *Promise }

// RulesFor implements request.RuleResolver.
func (r byRoles) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	a, err := r.promise.fulfilled()
	if err != nil {
		return nil, true, err
	}
	if a.Authorizers.roles == nil {
		return nil, false, nil
	}
	return a.Authorizers.roles.RulesFor(ctx, user, namespace)
}
