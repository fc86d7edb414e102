// Package authn finds out who sends a request.
//
// Each request.Authenticator here knows one kind of credentials: what a front proxy says, a password, a client certificate, a bearer
// token. A Union of them accepts the first user that one of them knows. Tokens are judged by request.TokenAuthenticators, which reviews ask as
// well; Bearer is the way from a request to them. With Anonymous around it, requests without any credentials have a user
// as well, but those with bad ones still fail: a caller whose token has run out must learn that.
//
// Tokens of service accounts are verified once and judged at each use (serviceaccount.go). Authenticators that ask other servers are
// wrapped in Cached. Nobody here writes a token anywhere: errors name what is wrong, never what was shown.
//
// Users are shared between requests and must not be changed. Everything here is safe for concurrent use. Not here: the answer
// to callers nobody knows (filters), what a user may do (authz), the TLS handshake (server), which must only ask for a client
// certificate and leave the judgement to X509.
//
// Read: authn.go, x509.go, requestheader.go, bearer.go, socket.go, tokens.go, basic.go, webhook.go; serviceaccount.go, legacytoken.go,
// tokensigner.go, bootstrap.go; remember.go, cache.go. Package jwt knows the tokens of OpenID Connect providers.
package authn

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/coracle-project/coracle/router/request"
)

// Union asks all in turn and returns the first user found. If there is none, it fails if any of them did.
func Union(all ...request.Authenticator) request.Authenticator {
	if len(all) == 1 {
		return all[0]
	}
	return union(all)
}

type union []request.Authenticator

func (u union) Authenticate(r *http.Request) (*request.User, error) {
	var failed error
	for _, a := range u {
		user, err := a.Authenticate(r)
		if user != nil && err == nil {
			return user, nil
		}
		failed = both(failed, err)
	}
	return nil, failed
}

// both joins two errors, of which mostly one is nil: to refuse somebody is to cost little.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return errors.Join(a, b)
}

// CredentialID is the extra that says by which of their credentials somebody is known, so that it can be found and revoked.
const CredentialID = "authentication.kubernetes.io/credential-id"

// Anonymous wraps a, so that whoever shows no credentials is system:anonymous; with paths, only if that is where they want to go.
// a may be nil.
func Anonymous(a request.Authenticator, paths ...string) request.Authenticator {
	return &anonymous{a, &request.User{Name: request.AnonymousUser, Groups: []string{request.GroupUnauthenticated}}, paths}
}

type anonymous struct {
	request.Authenticator
	user  *request.User
	paths []string
}

func (a *anonymous) Authenticate(r *http.Request) (*request.User, error) {
	if a.Authenticator != nil {
		if user, err := a.Authenticator.Authenticate(r); user != nil || err != nil {
			return user, err
		}
	}
	if len(a.paths) > 0 && !slices.Contains(a.paths, r.URL.Path) {
		return nil, nil
	}
	return a.user, nil
}

// WithAuthenticated adds system:authenticated to the groups of a user that proved who they are, even to be nobody: who has the name of
// the anonymous user is that. It is done when a user is made, not when one is found.
func WithAuthenticated(name string, groups []string) []string {
	if name == request.AnonymousUser || slices.Contains(groups, request.GroupAuthenticated) || slices.Contains(groups, request.GroupUnauthenticated) {
		return groups
	}
	return append(slices.Clip(groups), request.GroupAuthenticated)
}
