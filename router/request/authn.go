package request

import (
	"context"
	"net/http"
)

// Names of users and groups that the server itself assigns or that have a meaning in its code.
const (
	AnonymousUser        = "system:anonymous"       // a request without credentials
	APIServerUser        = "system:apiserver"       // the server itself and its controllers
	GroupUnauthenticated = "system:unauthenticated" // the group of AnonymousUser
	GroupAuthenticated   = "system:authenticated"   // the group of every user with an identity
	GroupNodes           = "system:nodes"           // kubelets
	GroupMasters         = "system:masters"         // always authorized, never refused a seat
)

// Authenticator finds the user of a request. Implementations are in filters/authn. An Authenticator
// is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the user that r's credentials stand for. It returns nil and no error if
	// r carries no credentials of a kind that it understands, and an error if it understands them
	// and they are not valid. The user is shared between requests and must not be changed.
	Authenticate(r *http.Request) (*User, error)
}

// TokenAuthenticator finds the user that a bearer token stands for. The token may have come with
// the request, or may be the subject of a TokenReview. Implementations are in filters/authn. A
// TokenAuthenticator is safe for concurrent use.
type TokenAuthenticator interface {
	// AuthenticateToken returns the user of token. It returns nil and no error if the token is of
	// no kind that it knows, and an error if it knows the kind but the token is not valid or cannot
	// be checked. If audiences is not empty, the token must be meant for at least one of them;
	// accepted lists those of audiences that the token is meant for. user and accepted are shared
	// and must not be changed.
	AuthenticateToken(ctx context.Context, token string, audiences []string) (user *User, accepted []string, err error)
}
