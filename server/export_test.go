package server

import "github.com/coracle-project/coracle/scheme/meta"

// SecretToken makes the token that stands in a secret.
func (s *Server) SecretToken(namespace, account, uid, secret string) (string, error) {
	return s.identity.accounts.signLegacy(namespace, account, meta.UID(uid), secret)
}
