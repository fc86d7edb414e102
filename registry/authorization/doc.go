// Package authorization knows the resources of authorization.k8s.io: reviews, which are asked who
// may do what and answer at once.
//
// Actions returns the declarations that a server makes them from.
//
// Not here: the verbs (registry), types (scheme/api/authorizationv1), and who decides
// (filters/authz).
//
// Read: accessreview.go, check.go, attributes.go, rulesreview.go.
package authorization

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Actions returns the resources of the group. may is asked what users may do, rules for all of it.
func Actions(may request.Authorizer, rules request.RuleResolver) []registry.Actions {
	return []registry.Actions{
		subjectAccessReviews(may), selfSubjectAccessReviews(may), localSubjectAccessReviews(may),
		selfSubjectRulesReviews(rules),
	}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: authorizationv1.GroupVersion.Group, Resource: name}
}
