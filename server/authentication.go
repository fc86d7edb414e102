package server

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
)

// newAuthentication makes what finds out who sends a request, and what judges a token. Requests are shown to these in turn, until one
// knows the user:
//
//  1. front proxies, which speak for others
//  2. passwords
//  3. client certificates
//  4. bearer tokens: the server's own, static ones
//  5. what the configuration adds
//
// Whoever shows no credentials at all is anonymous. As soon as the user is known, nobody behind sees headers of front proxies.
func newAuthentication(c AuthenticationConfig, id *identity, log *zap.Logger) (request.Authenticator, request.TokenAuthenticator, error) {
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
	tokens, err := newTokens(c, id)
	if err != nil {
		return nil, nil, err
	}
	all = append(append(all, authn.Bearer(tokens)), c.Authenticators...)
	who := authn.Union(all...)
	if !c.NoAnonymous {
		who = authn.Anonymous(who)
	}
	return authn.StripHeaders(who, c.FrontProxy.Headers), tokens, nil
}

// newTokens makes what judges bearer tokens, local first, then remote.
func newTokens(c AuthenticationConfig, id *identity) (request.TokenAuthenticator, error) {
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
	return authn.TokenUnion(known...), nil
}

func (c *AuthenticationConfig) validate() error {
	return c.FrontProxy.validate(c.ClientCAFile)
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
