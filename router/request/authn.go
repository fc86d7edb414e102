package request

import "net/http"

// The names of users and groups that the server itself gives, or treats apart.
const (
	AnonymousUser        = "system:anonymous"       // who shows no credentials
	APIServerUser        = "system:apiserver"       // the server itself, above all its controllers
	GroupUnauthenticated = "system:unauthenticated" // everybody without an identity
	GroupAuthenticated   = "system:authenticated"   // everybody with one
	GroupMasters         = "system:masters"         // may do everything, at any time
)

// Authenticator finds out who sends a request. Implementations are in filters/authn. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the user that r's credentials stand for; nil and no error if r carries none that it
	// understands; an error if it carries some that do not hold. The user is shared and must not be changed.
	Authenticate(r *http.Request) (*User, error)
}
