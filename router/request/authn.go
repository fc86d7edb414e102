package request

import (
	"context"
	"net/http"
)

// The names of users and groups that the server itself gives, or treats apart.
const (
	AnonymousUser        = "system:anonymous"       // who shows no credentials
	APIServerUser        = "system:apiserver"       // the server itself, above all its controllers
	GroupUnauthenticated = "system:unauthenticated" // everybody without an identity
	GroupAuthenticated   = "system:authenticated"   // everybody with one
	GroupNodes           = "system:nodes"           // kubelets
	GroupMasters         = "system:masters"         // may do everything, at any time
)

// Authenticator finds out who sends a request. Implementations are in filters/authn. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the user that r's credentials stand for; nil and no error if r carries none that it
	// understands; an error if it carries some that do not hold. The user is shared and must not be changed.
	Authenticate(r *http.Request) (*User, error)
}

// TokenAuthenticator finds out whom a bearer token stands for, whether it came with a request or is asked about in a review.
// Implementations are in filters/authn. It is safe for concurrent use.
type TokenAuthenticator interface {
	// AuthenticateToken returns the user; nil and no error if the token is of none of the kinds that it knows; an error if it
	// is of one and does not hold, or cannot be judged. If audiences are asked for, the token is good only if it is meant for one of
	// them, and accepted are those of them that it is meant for. User and accepted are shared and must not be changed.
	AuthenticateToken(ctx context.Context, token string, audiences []string) (user *User, accepted []string, err error)
}
