package identity

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
)

// The chain of authenticators of a server, in order, made from the Identity and the Config. Package
// server calls Authenticators once, when the resources are declared.

// Run starts work in a goroutine. Its context ends when the server stops.
type Run func(work func(ctx context.Context))

// AuthenticatorNeeds is what Authenticators takes from the server around it.
type AuthenticatorNeeds struct {
	Stores  Stores
	Run     Run
	Metrics prometheus.Registerer
	Flawed  func(callout.Flaw) // counts outdated properties of the webhook's certificate
	Log     *zap.Logger
}

// Authenticators returns the authenticator of requests, and the authenticator of tokens that
// TokenReview asks. The authenticator of requests asks these in turn until one finds a user:
//
//  1. front proxies, which name in headers the user for whom they speak
//  2. passwords
//  3. client certificates
//  4. bearer tokens: the server's own, static ones, tokens of service accounts, bootstrap tokens,
//     tokens of other issuers, tokens about which the webhook is asked
//  5. Config.Authenticators
//  6. front proxies once more: a client certificate that is neither a user's nor a front proxy's is
//     refused
//
// A token that names no audiences is valid for the audiences of the server. A request without
// credentials is anonymous, if the configuration allows that. The headers of front proxies are
// removed from each authenticated request, so that no handler and no server behind sees them.
func (id *Identity) Authenticators(c *Config,
	around AuthenticatorNeeds) (request.Authenticator, request.TokenAuthenticator, error) {
	var all, last []request.Authenticator
	if id.proxies != nil {
		proxies := authn.NewFrontProxy(id.proxies.Get, c.FrontProxy.AllowedNames, c.FrontProxy.Headers)
		all, last = append(all, proxies), append(last, proxies.Others())
	}
	if c.BasicAuthFile != "" {
		passwords, err := authn.ReadPasswordFile(c.BasicAuthFile)
		if err != nil {
			return nil, nil, fmt.Errorf("server: %w", err)
		}
		around.Log.Warn("passwords authenticate users (--basic-auth-file): clients send them with every request, and only a restart revokes them; use certificates or tokens",
			zap.String("file", c.BasicAuthFile))
		all = append(all, passwords)
	}
	if id.clients != nil {
		certificates := authn.NewX509(id.clients.Get)
		var err error
		if certificates.Shown, err = newCertificateMetrics(around.Metrics); err != nil {
			return nil, nil, err
		}
		all = append(all, certificates)
	}
	meter, err := newCacheMetrics(around.Metrics)
	if err != nil {
		return nil, nil, err
	}
	issuers, err := openIssuers(c, around.Run, around.Metrics, meter, around.Log)
	if err != nil {
		return nil, nil, fmt.Errorf("server: %w", err)
	}
	tokens, err := id.newTokens(c, &around, issuers, meter)
	if err != nil {
		return nil, nil, err
	}
	all = append(append(all, authn.Bearer(tokens, c.Audiences...), authn.Socket(tokens, c.Audiences...)),
		c.Authenticators...)
	chain := authn.Union(append(all, last...)...)
	if chain, err = withAnonymous(chain, c, issuers); err != nil {
		return nil, nil, fmt.Errorf("server: %w", err)
	}
	return authn.StripHeaders(chain, c.FrontProxy.Headers), tokens, nil
}

// withAnonymous returns chain, after which requests without credentials count as anonymous: at the
// paths that the AuthenticationConfiguration allows, or at all paths unless --anonymous-auth
// forbids it. The file and the flag exclude each other.
func withAnonymous(chain request.Authenticator, c *Config, from *issuers) (request.Authenticator, error) {
	if from == nil || from.anonymous == nil {
		if c.Anonymous != nil && !*c.Anonymous {
			return chain, nil
		}
		return authn.Anonymous(chain), nil
	}
	a := from.anonymous
	switch {
	case c.Anonymous != nil:
		return nil, field.Forbidden(field.NewPath("anonymous"), "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file")
	case !a.Enabled:
		return chain, nil
	}
	var paths []string
	for _, condition := range a.Conditions {
		paths = append(paths, condition.Path)
	}
	return authn.Anonymous(chain, paths...), nil
}

// newTokens makes the chain of token authenticators. Authenticators that answer from memory come
// first, authenticators that ask other servers last.
func (id *Identity) newTokens(c *Config, around *AuthenticatorNeeds, issuers *issuers,
	meter authn.CacheMeter) (request.TokenAuthenticator, error) {
	used, err := newTokenMetrics(around.Metrics)
	if err != nil {
		return nil, err
	}
	objects := NewObjects(around.Stores, around.Log)
	// The server's own token makes the chain never empty, so a request with an unknown token is
	// refused and not anonymous.
	own := new(authn.Tokens)
	own.Add(id.Loopback, request.User{Name: request.APIServerUser, Groups: []string{request.GroupMasters}})
	chain := []request.TokenAuthenticator{authn.Fixed(own, c.Audiences)}
	if c.TokenAuthFile != "" {
		static, err := authn.ReadTokenFile(c.TokenAuthFile)
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		chain = append(chain, authn.Fixed(static, c.Audiences))
	}
	if objects.stores.Store(serviceAccounts) != nil {
		chain = append(chain, authn.NewServiceAccounts(authn.ServiceAccountConfig{
			Issuers: c.ServiceAccounts.Issuers, Keys: id.Accounts.Keys, Audiences: c.Audiences,
			Trusting: c.ServiceAccounts.NoLookup, Objects: objects, Note: used,
		}))
	}
	if c.BootstrapTokens && objects.stores.Store(secrets) != nil {
		chain = append(chain, authn.Fixed(authn.NewBootstrap(objects.secret), c.Audiences))
	}
	if issuers != nil {
		chain = append(chain, authn.Fixed(issuers, c.Audiences))
	}
	if c.Webhook.File != "" {
		hook, err := newTokenWebhook(c, around, meter)
		if err != nil {
			return nil, fmt.Errorf("server: token webhook: %w", err)
		}
		chain = append(chain, hook)
	}
	return authn.TokenUnion(chain...), nil
}

// hookTries is how often the webhook is asked about one token if it does not answer.
const hookTries = 5

// newTokenWebhook makes the authenticator that asks the webhook about tokens and remembers the
// answers for CacheTTL. Its connections close when the server stops.
func newTokenWebhook(c *Config, around *AuthenticatorNeeds,
	meter authn.CacheMeter) (request.TokenAuthenticator, error) {
	target, err := callout.ReadKubeconfig(c.Webhook.File)
	if err != nil {
		return nil, err
	}
	target.Flawed = around.Flawed
	client, err := callout.New(callout.Config{
		Name:   "token-webhook",
		Target: target,
		Retry:  callout.Retry{Tries: hookTries},
	})
	if err != nil {
		return nil, err
	}
	around.Run(func(ctx context.Context) {
		<-ctx.Done()
		client.Close()
	})
	hook, err := authn.NewWebhook(client, c.Webhook.Version, c.Audiences)
	if err != nil || c.Webhook.CacheTTL < 0 {
		return hook, err
	}
	return authn.Cached(hook, c.Webhook.CacheTTL, c.Webhook.CacheTTL, meter), nil
}
