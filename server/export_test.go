package server

import (
	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/identity"
)

// SecretToken makes the token that stands in a secret.
func (s *Server) SecretToken(namespace, account, uid, secret string) (string, error) {
	return s.identity.Accounts.SignLegacy(namespace, account, meta.UID(uid), secret)
}

// TokenObject tells of an object that a token is bound to.
func (s *Server) TokenObject(resource, namespace, name string) authn.Object {
	return identity.NewObjects(s.Stores, s.Log()).Object(resource, namespace, name)
}

// NoAvailability leaves what API services say of the servers behind them to the test.
func NoAvailability(s *Server) { s.behind.StopChecks() }
