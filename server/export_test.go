package server

import (
	"errors"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
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
func NoAvailability(s *Server) {
	v := &s.behind.availability
	v.need(false)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.find = nil
}

// ReadDescription reads what a server behind says of its resources, at once, and of a version, and its index of OpenAPI v3. It returns what is
// shown of that.
func ReadDescription(body []byte) (resources []apidiscoveryv2.APIResourceDiscovery, schemas map[string]string, err error) {
	d, none := &description{versions: map[meta.GroupVersion]versionSaid{}}, &description{}
	allErr := d.readAll(body, none)
	for _, said := range d.versions {
		resources = append(resources, said.resources...)
	}
	var list meta.APIResourceList
	listErr := codec.DecodeJSON(body, &list)
	if listErr == nil {
		var more []apidiscoveryv2.APIResourceDiscovery
		more, listErr = fromList(list.APIResources)
		resources = append(resources, more...)
	}
	schemas, indexErr := readIndex(body)
	return resources, schemas, errors.Join(allErr, listErr, indexErr)
}
