package server

import (
	"fmt"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
)

// newAuthentication makes what finds out who sends a request, and what judges a token, in the order in which they are asked: client
// certificates, the server's own token, static tokens, service accounts, bootstrap tokens, and what the configuration adds. Tokens
// that do not say what they are for are for the server.
func newAuthentication(c AuthenticationConfig, id *identity, objects *tokenObjects, note func(authn.TokenUse)) (request.Authenticator, request.TokenAuthenticator, error) {
	var all []request.Authenticator
	if id.own != nil {
		all = append(all, authn.NewX509(id.clients.get))
	}
	// There is always the server's own token: who shows one that nobody knows is refused, not anonymous.
	own := new(authn.Tokens)
	own.Add(id.loopback, request.User{Name: request.APIServerUser, Groups: []string{request.GroupMasters}})
	known := []request.TokenAuthenticator{authn.Fixed(own, c.Audiences)}
	if c.TokenAuthFile != "" {
		static, err := authn.ReadTokenFile(c.TokenAuthFile)
		if err != nil {
			return nil, nil, fmt.Errorf("server: %w", err)
		}
		known = append(known, authn.Fixed(static, c.Audiences))
	}
	if objects.stores.Store(serviceAccounts) != nil {
		known = append(known, authn.NewServiceAccounts(authn.ServiceAccountConfig{
			Issuers: c.ServiceAccounts.Issuers, Keys: id.accounts.keys, Audiences: c.Audiences,
			Trusting: c.ServiceAccounts.NoLookup, Objects: objects, Note: note,
		}))
	}
	if c.BootstrapTokens && objects.stores.Store(secrets) != nil {
		known = append(known, authn.Fixed(authn.NewBootstrap(objects.secret), c.Audiences))
	}
	tokens := authn.TokenUnion(known...)
	all = append(append(all, authn.Bearer(tokens, c.Audiences...)), c.Authenticators...)
	if c.NoAnonymous {
		return authn.Union(all...), tokens, nil
	}
	return authn.Anonymous(authn.Union(all...)), tokens, nil
}
