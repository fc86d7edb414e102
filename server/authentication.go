package server

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/callout"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/field"
)

// newAuthentication makes what finds out who sends a request, and what judges a token. Requests are shown to these in turn, until one
// knows the user:
//
//  1. front proxies, which speak for others
//  2. passwords
//  3. client certificates
//  4. bearer tokens: the server's own, static ones, those of issuers elsewhere, those that the webhook knows
//  5. what the configuration adds
//
// Whoever shows no credentials at all is anonymous. As soon as the user is known, nobody behind sees headers of front proxies.
func newAuthentication(c AuthenticationConfig, id *identity, work *background, reg prometheus.Registerer, log *zap.Logger) (request.Authenticator, request.TokenAuthenticator, error) {
	var all []request.Authenticator
	if id.proxies != nil {
		all = append(all, authn.NewFrontProxy(id.proxies.get, c.FrontProxy.AllowedNames, c.FrontProxy.Headers))
	}
	if c.BasicAuthFile != "" {
		passwords, err := authn.ReadPasswordFile(c.BasicAuthFile)
		if err != nil {
			return nil, nil, fmt.Errorf("server: %w", err)
		}
		log.Warn("passwords let users in: they are weak, sent with every request and end with the server alone; use certificates or tokens",
			zap.String("file", c.BasicAuthFile))
		all = append(all, passwords)
	}
	if id.own != nil {
		all = append(all, authn.NewX509(id.clients.get))
	}
	known, err := openIssuers(&c, work, reg, log)
	if err != nil {
		return nil, nil, fmt.Errorf("server: %w", err)
	}
	tokens, err := newTokens(c, id, known, work)
	if err != nil {
		return nil, nil, err
	}
	all = append(append(all, authn.Bearer(tokens, c.Audiences...)), c.Authenticators...)
	who := authn.Union(all...)
	if who, err = withAnonymous(who, &c, known); err != nil {
		return nil, nil, fmt.Errorf("server: %w", err)
	}
	return authn.StripHeaders(who, c.FrontProxy.Headers), tokens, nil
}

// withAnonymous lets in who shows no credentials, as far as the file says, or else the flag.
func withAnonymous(who request.Authenticator, c *AuthenticationConfig, known *issuers) (request.Authenticator, error) {
	if known == nil || known.anonymous == nil {
		if c.Anonymous != nil && !*c.Anonymous {
			return who, nil
		}
		return authn.Anonymous(who), nil
	}
	a := known.anonymous
	switch {
	case c.Anonymous != nil:
		return nil, field.Forbidden(field.NewPath("anonymous"), "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file")
	case !a.Enabled:
		return who, nil
	}
	var paths []string
	for _, condition := range a.Conditions {
		paths = append(paths, condition.Path)
	}
	return authn.Anonymous(who, paths...), nil
}

// newTokens makes what judges bearer tokens, local first, then remote.
func newTokens(c AuthenticationConfig, id *identity, issuers *issuers, work *background) (request.TokenAuthenticator, error) {
	// There is always the server's own token: who shows one that nobody knows is refused, not anonymous.
	own := new(authn.Tokens)
	own.Add(id.loopback, request.User{Name: request.APIServerUser, Groups: []string{request.GroupMasters}})
	known := []request.TokenAuthenticator{own}
	if c.TokenAuthFile != "" {
		static, err := authn.ReadTokenFile(c.TokenAuthFile)
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		known = append(known, static)
	}
	if issuers != nil {
		known = append(known, authn.Fixed(issuers, c.Audiences))
	}
	if c.Webhook.File != "" {
		hook, err := newTokenWebhook(c, work)
		if err != nil {
			return nil, fmt.Errorf("server: token webhook: %w", err)
		}
		known = append(known, hook)
	}
	return authn.TokenUnion(known...), nil
}

// hookTries is how often a webhook that does not answer is asked about one token.
const hookTries = 5

// newTokenWebhook makes what asks the webhook about tokens. Its connections end with work.
func newTokenWebhook(c AuthenticationConfig, work *background) (request.TokenAuthenticator, error) {
	target, err := callout.ReadKubeconfig(c.Webhook.File)
	if err != nil {
		return nil, err
	}
	client, err := callout.New(callout.Config{Name: "token-webhook", Target: target, Retry: callout.Retry{Tries: hookTries}})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(work.ctx, client.Close)
	return authn.NewWebhook(client, c.Webhook.Version, c.Audiences)
}

func (c AuthenticationConfig) complete() AuthenticationConfig {
	setDefault(&c.Webhook.Version, authn.ReviewV1beta1)
	setDefault(&c.Webhook.CacheTTL, 2*time.Minute)
	c.OIDC = c.OIDC.complete()
	return c
}

func (c *AuthenticationConfig) validate() error {
	return errors.Join(c.FrontProxy.validate(c.ClientCAFile), c.OIDC.validate(c.File))
}

// validate also refuses that clients can make themselves front proxies: where both have the same CA, proxies must be told apart by
// their names.
func (c *FrontProxyConfig) validate(clientCAFile string) error {
	if err := c.Headers.Validate(); err != nil {
		return fmt.Errorf("front proxies: %w", err)
	}
	for _, name := range c.AllowedNames {
		if strings.TrimSpace(name) == "" {
			return errors.New("front proxies: an allowed name is empty")
		}
	}
	if c.ClientCAFile == "" || clientCAFile == "" || len(c.AllowedNames) > 0 {
		return nil
	}
	proxies, proxiesErr := readCertificates(c.ClientCAFile)
	clients, clientsErr := readCertificates(clientCAFile)
	if proxiesErr != nil || clientsErr != nil {
		return nil // said when they are read to be used
	}
	if slices.ContainsFunc(proxies, func(p *x509.Certificate) bool { return slices.ContainsFunc(clients, p.Equal) }) {
		return fmt.Errorf("front proxies and clients have a CA in common (%s, %s): the names of front proxies must be given", c.ClientCAFile, clientCAFile)
	}
	return nil
}
