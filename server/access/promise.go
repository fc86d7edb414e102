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

// Promise is who may do what, who sends a token, and who signs tokens, on a server that may not be
// complete yet. Resources that depend on the answers are declared with a Promise, because
// authenticators and authorizers look into resources and so are made later. Keep gives the answers.
// Before that, every question is answered by an error. It is safe for concurrent use.
type Promise struct{ kept atomic.Pointer[Answers] }

// Answers are what a Promise is about.
type Answers struct {
	// Tokens finds out who sends a token. Audiences are those of the server: a token that a review
	// asks about for no audience must be for one of them.
	Tokens      request.TokenAuthenticator
	Audiences   []string
	Authorizers *Authorizers
	Issuer      Issuer
}

// Issuer signs tokens of service accounts: see core.TokenConfig.
type Issuer interface {
	Sign(ctx context.Context, t *core.AccountToken) (token, credential string, err error)
	Bounds() (longest, extended time.Duration)
}

// Keep gives the answers. It must be called exactly once, before the server serves: a second call
// panics.
func (p *Promise) Keep(a Answers) {
	if !p.kept.CompareAndSwap(nil, &a) {
		panic("access: a promise is kept twice")
	}
}

// answers returns the answers, or the error of somebody who asks too early.
func (p *Promise) answers() (*Answers, error) {
	if a := p.kept.Load(); a != nil {
		return a, nil
	}
	return nil, meta.NewServiceUnavailable("the server is not complete yet: nobody decides who may do what")
}

// AuthenticateToken implements request.TokenAuthenticator.
func (p *Promise) AuthenticateToken(
	ctx context.Context, token string, audiences []string,
) (user *request.User, among []string, err error) {
	a, err := p.answers()
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
	a, err := p.answers()
	if err != nil {
		return request.Deny, "", err
	}
	return a.Authorizers.Authorize(ctx, attributes)
}

// RulesFor implements request.RuleResolver: the rules of all modes that can tell theirs.
func (p *Promise) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	a, err := p.answers()
	if err != nil {
		return nil, true, err
	}
	return a.Authorizers.RulesFor(ctx, user, namespace)
}

// Sign makes a token of a service account: see core.TokenConfig.
func (p *Promise) Sign(ctx context.Context, t *core.AccountToken) (token, credential string, err error) {
	a, err := p.answers()
	if err != nil {
		return "", "", err
	}
	return a.Issuer.Sign(ctx, t)
}

// Bounds says how long tokens of service accounts may be good: see core.TokenConfig. Before the
// promise is kept there are no bounds, and no tokens.
func (p *Promise) Bounds() (longest, extended time.Duration) {
	a, err := p.answers()
	if err != nil {
		return 0, 0
	}
	return a.Issuer.Bounds()
}

// Roles tells the rules that roles alone give, whatever else decides. A server without roles has
// none.
func (p *Promise) Roles() request.RuleResolver { return byRoles{p} }

// byRoles implements Promise.Roles.
type byRoles struct{ promise *Promise }

// RulesFor implements request.RuleResolver.
func (r byRoles) RulesFor(
	ctx context.Context, user *request.User, namespace string,
) (rules []rbacv1.PolicyRule, incomplete bool, err error) {
	a, err := r.promise.answers()
	if err != nil {
		return nil, true, err
	}
	if a.Authorizers.roles == nil {
		return nil, false, nil
	}
	return a.Authorizers.roles.RulesFor(ctx, user, namespace)
}
