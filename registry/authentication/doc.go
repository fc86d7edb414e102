// Package authentication knows the resources of authentication.k8s.io: reviews, which are asked who
// somebody is and answer at once.
//
// Actions returns the declarations that a server makes them from.
//
// Not here: the verbs (registry), types (scheme/api/authenticationv1), and who knows the users
// (filters/authn).
package authentication

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Actions returns the resources of the group. tokens is asked whom a token stands for.
func Actions(tokens request.TokenAuthenticator) []registry.Actions {
	return []registry.Actions{selfSubjectReviews(), tokenReviews(tokens)}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: authenticationv1.GroupVersion.Group, Resource: name}
}
