package server

import (
	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/identity"
)

// SecretToken returns a legacy token, as it stands in a secret.
func (s *Server) SecretToken(namespace, account, uid, secret string) (string, error) {
	return s.identity.Accounts.SignLegacy(namespace, account, meta.UID(uid), secret)
}

// TokenObject returns the object that a bound token is bound to.
func (s *Server) TokenObject(resource, namespace, name string) authn.Object {
	return identity.NewObjects(s.Stores, s.Log()).Object(resource, namespace, name)
}

// NoAvailability stops the server's checks of servers behind, so that only the test writes the
// status of APIServices.
func NoAvailability(s *Server) { s.behind.StopChecks() }
