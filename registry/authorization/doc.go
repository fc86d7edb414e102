// Package authorization declares the resources of the group authorization.k8s.io: reviews, which a
// client creates to ask what a user may do. A review is answered at once and is not stored (an
// action).
//
// Laws: a review is answered by the authorizer that decides about requests, so a review agrees with
// what a request would get. A selector that cannot be parsed makes the question wider, never
// narrower: its requirements are left out and the review says so. The texts of errors are those of
// kube-apiserver.
//
// Actions returns the declarations. The server makes the resources from them at its start.
//
// Not here: the verb create (registry), the Go types (scheme/api/authorizationv1), the decision
// (filters/authz).
//
// Reading order: accessreview.go, check.go, attributes.go, rulesreview.go.
package authorization

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Actions returns the declarations of the resources of the group authorization.k8s.io. may answers
// access reviews, rules answers rules reviews; both must be safe for concurrent use.
func Actions(may request.Authorizer, rules request.RuleResolver) []registry.Actions {
	return []registry.Actions{
		subjectAccessReviews(may), selfSubjectAccessReviews(may), localSubjectAccessReviews(may),
		selfSubjectRulesReviews(rules),
	}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: authorizationv1.GroupVersion.Group, Resource: name}
}
