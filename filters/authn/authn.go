// Package authn holds the authenticators: each finds the user of a request from one kind of
// credentials.
//
// Words: an Authenticator looks at a request, a TokenAuthenticator at a bearer token; Bearer and
// Socket take the token from the request. A Union asks several authenticators and returns the first
// user found. A legacy token is a service account token that is stored in a secret; a bound token
// is one that TokenRequest has issued for an object. To remember is to cache an answer by a token's
// hash.
//
// Laws: users are shared between requests and are never changed. Everything here is safe for
// concurrent use. A token is never logged, stored or put into an error: errors say what is wrong,
// not what was shown. A client without credentials may be anonymous; a client with bad credentials
// is refused, so that it learns that its token has expired. A service account token's signature is
// verified at most once in ten minutes for each key set, but its times and its objects are checked
// at each use. Authenticators that ask other servers are wrapped in Cached.
//
// Package server composes the authenticators from the configuration; filters.Authenticate and
// TokenReviews call the result. Not here: the response to a client without a user (filters), what a
// user may do (authz), and the TLS handshake (server), which must only request a client certificate
// and leave its verification to X509.
//
// Read authn.go, x509.go, requestheader.go, bearer.go, socket.go, tokens.go, basic.go and
// webhook.go; then serviceaccount.go, legacytoken.go, tokensigner.go and bootstrap.go; then
// remember.go and cache.go. Package jwt authenticates tokens of OpenID Connect providers.
package authn

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/coracle-project/coracle/router/request"
)

// Union asks all authenticators in turn and returns the first user found. If none finds a user, it
// returns their errors, or no error if there was none.
func Union(all ...request.Authenticator) request.Authenticator {
	if len(all) == 1 {
		return all[0]
	}
	return union(all)
}

type union []request.Authenticator

// Authenticate implements request.Authenticator.
func (u union) Authenticate(r *http.Request) (*request.User, error) {
	var failed error
	for _, a := range u {
		user, err := a.Authenticate(r)
		if user != nil && err == nil {
			return user, nil
		}
		failed = joinErrors(failed, err)
	}
	return nil, failed
}

// joinErrors joins two errors. Mostly one of them is nil, and then it does not allocate, because
// refusing a client must be cheap.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return errors.Join(a, b)
}

// CredentialID is the key in a user's extra that identifies the credential by which the user was
// authenticated, so that it can be found and revoked.
const CredentialID = "authentication.kubernetes.io/credential-id"

// Anonymous wraps a so that a request without credentials has the user system:anonymous. If paths
// are given, only requests for exactly these paths do. a may be nil.
func Anonymous(a request.Authenticator, paths ...string) request.Authenticator {
	return &anonymous{
		a, &request.User{Name: request.AnonymousUser, Groups: []string{request.GroupUnauthenticated}}, paths,
	}
}

type anonymous struct {
	request.Authenticator
	user  *request.User
	paths []string
}

// Authenticate implements request.Authenticator.
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

// WithAuthenticated adds system:authenticated to the groups of a user. It does not if the
// credentials are for system:anonymous or for the group system:unauthenticated, because such a user
// stays anonymous. Authenticators call it when they make a User, not for each request.
func WithAuthenticated(name string, groups []string) []string {
	if name == request.AnonymousUser || slices.Contains(groups, request.GroupAuthenticated) ||
		slices.Contains(groups, request.GroupUnauthenticated) {
		return groups
	}
	return append(slices.Clip(groups), request.GroupAuthenticated)
}
