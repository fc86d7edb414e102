package authorization

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// selfSubjectRulesReviews declares the resource selfsubjectrulesreviews, which lists what the
// caller may do in a namespace. The list is incomplete if an authorizer cannot list its rules. It
// is meant for user interfaces, not for decisions.
func selfSubjectRulesReviews(rules request.RuleResolver) registry.Actions {
	return registry.Actions{
		GroupResource: resource("selfsubjectrulesreviews"), Kind: "SelfSubjectRulesReview",
		Singular: "selfsubjectrulesreview",
		Check: func(a *registry.Action) error {
			if a.Object.(*authorizationv1.SelfSubjectRulesReview).Spec.Namespace == "" {
				return meta.NewBadRequest("no namespace on request")
			}
			return nil
		},
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			namespace := a.Object.(*authorizationv1.SelfSubjectRulesReview).Spec.Namespace
			found, incomplete, err := rules.RulesFor(ctx, a.User, namespace)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := &authorizationv1.SelfSubjectRulesReview{Status: statusOf(found)}
			r.Status.Incomplete = incomplete
			if err != nil {
				r.Status.EvaluationError = err.Error()
			}
			return r, nil
		},
	}
}

// statusOf returns rules in the form of a review, where rules for resources and rules for paths are
// two lists. An RBAC rule for both is in both lists.
func statusOf(rules []rbacv1.PolicyRule) authorizationv1.SubjectRulesReviewStatus {
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{},
	}
	for i := range rules {
		r := &rules[i]
		if len(r.Resources) > 0 {
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames,
			})
		}
		if len(r.NonResourceURLs) > 0 {
			status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
				Verbs: r.Verbs, NonResourceURLs: r.NonResourceURLs,
			})
		}
	}
	return status
}
