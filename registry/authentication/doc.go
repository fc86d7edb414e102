// Package authentication declares the resources of the group authentication.k8s.io: reviews, which
// a client creates to ask who a user is. A review is answered at once and is not stored (an
// action).
//
// Laws: a SelfSubjectReview tells callers about themselves alone. A TokenReview answers an invalid
// token with a status and not with an error, in kube-apiserver's words. No answer is cached here.
//
// Actions returns the declarations. The server makes the resources from them at its start.
//
// Not here: the verb create (registry), the Go types (scheme/api/authenticationv1), the
// verification of tokens (filters/authn).
//
// Reading order: tokenreview.go, selfsubjectreview.go.
package authentication

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Actions returns the declarations of the resources of the group authentication.k8s.io. tokens
// finds the user of the token in a TokenReview; it must be safe for concurrent use.
func Actions(tokens request.TokenAuthenticator) []registry.Actions {
	return []registry.Actions{selfSubjectReviews(), tokenReviews(tokens)}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: authenticationv1.GroupVersion.Group, Resource: name}
}
