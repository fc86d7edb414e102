package authorization

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// subjectAccessReviews declares the resource subjectaccessreviews: may a user, who need not be the
// caller, do something?
func subjectAccessReviews(may request.Authorizer) registry.Actions {
	return registry.Actions{
		GroupResource: resource("subjectaccessreviews"), Kind: "SubjectAccessReview", Singular: "subjectaccessreview",
		Returned: true,
		Check: func(a *registry.Action) error {
			r := a.Object.(*authorizationv1.SubjectAccessReview)
			return invalidReview(append(checkSubject(&r.Spec), checkEmpty(r.ObjectMeta)...))
		},
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			r := a.Object.(*authorizationv1.SubjectAccessReview)
			err := decide(ctx, may, attributesOf(&r.Spec), &r.Status)
			return r, err
		},
	}
}

// localSubjectAccessReviews declares the resource localsubjectaccessreviews: may a user do
// something in the namespace of the review? Because the resource is namespaced, a role can allow a
// client to ask about one namespace only.
func localSubjectAccessReviews(may request.Authorizer) registry.Actions {
	return registry.Actions{
		GroupResource: resource("localsubjectaccessreviews"), Kind: "LocalSubjectAccessReview",
		Singular:   "localsubjectaccessreview",
		Namespaced: true, Returned: true,
		Check: func(a *registry.Action) error {
			return invalidReview(checkLocal(a.Object.(*authorizationv1.LocalSubjectAccessReview)))
		},
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			r := a.Object.(*authorizationv1.LocalSubjectAccessReview)
			err := decide(ctx, may, attributesOf(&r.Spec), &r.Status)
			return r, err
		},
	}
}

// selfSubjectAccessReviews declares the resource selfsubjectaccessreviews: may the caller do
// something?
func selfSubjectAccessReviews(may request.Authorizer) registry.Actions {
	return registry.Actions{
		GroupResource: resource("selfsubjectaccessreviews"), Kind: "SelfSubjectAccessReview",
		Singular: "selfsubjectaccessreview",
		Returned: true,
		Check: func(a *registry.Action) error {
			r := a.Object.(*authorizationv1.SelfSubjectAccessReview)
			errs := checkAttributes(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)
			errs = append(errs, checkSelectors(r.Spec.ResourceAttributes)...)
			return invalidReview(append(errs, checkEmpty(r.ObjectMeta)...))
		},
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			r := a.Object.(*authorizationv1.SelfSubjectAccessReview)
			err := decide(ctx, may, attributesFor(a.User, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes),
				&r.Status)
			return r, err
		},
	}
}

// decide sets status to the decision about a. It returns an error only if the request has ended; an
// error of the authorizer is part of the status.
func decide(ctx context.Context, may request.Authorizer, a *request.Attributes,
	status *authorizationv1.SubjectAccessReviewStatus) error {
	decision, reason, err := may.Authorize(ctx, a)
	if err := ctx.Err(); err != nil {
		return err
	}
	*status = authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == request.Allow, Denied: decision == request.Deny, Reason: reason,
		EvaluationError: evaluationErrors(a, err),
	}
	return nil
}

// evaluationErrors returns the text of err, the authorizer's error, and of the errors in the
// selectors of a; "" if there are none. A selector is "partially ignored" if some of its
// requirements could be parsed.
func evaluationErrors(a *request.Attributes, err error) string {
	var all []string
	if err != nil {
		all = append(all, err.Error())
	}
	ignored := func(selector string, some bool, err error) {
		switch {
		case err != nil && some:
			all = append(all, "spec.resourceAttributes."+selector+" partially ignored due to parse error")
		case err != nil:
			all = append(all, "spec.resourceAttributes."+selector+" ignored due to parse error")
		}
	}
	fields, err := a.Fields()
	ignored("fieldSelector", len(fields) > 0, err)
	labels, err := a.Labels()
	ignored("labelSelector", len(labels) > 0, err)
	return strings.Join(all, "; ")
}
