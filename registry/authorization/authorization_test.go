package authorization

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authorizationv1"
	"github.com/coracle-project/coracle/scheme/api/rbacv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// fixedAuthorizer answers every question alike and keeps the last one.
type fixedAuthorizer struct {
	asked    *request.Attributes
	decision request.Decision
	reason   string
	err      error
}

func (j *fixedAuthorizer) Authorize(_ context.Context, a *request.Attributes) (request.Decision, string, error) {
	j.asked = a
	return j.decision, j.reason, j.err
}

// list is a RuleResolver with fixed rules.
type list struct {
	rules      []rbacv1.PolicyRule
	incomplete bool
	err        error
}

func (l list) RulesFor(_ context.Context, user *request.User, namespace string) ([]rbacv1.PolicyRule, bool, error) {
	if user.Name != "alice" || namespace != "ns" {
		return nil, false, fmt.Errorf("asked about %s in %q", user.Name, namespace)
	}
	return l.rules, l.incomplete, l.err
}

// ask runs the creation of a review, without decoding and admission.
func ask(ctx context.Context, all []registry.Actions, name string, obj meta.Object) (meta.Typed, error) {
	i := slices.IndexFunc(all, func(a registry.Actions) bool { return a.GroupResource.Resource == name })
	act := &registry.Action{Object: obj, User: &request.User{Name: "alice"}}
	if err := all[i].Check(act); err != nil {
		return nil, err
	}
	return all[i].Create(ctx, act)
}

// TestAnswers compares the status of a review with the decision of the authorizer. The attributes
// and the validation of reviews are compared with Kubernetes in test/differential.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		authorizer     fixedAuthorizer
		fields, labels string
		want           authorizationv1.SubjectAccessReviewStatus
	}{
		{fixedAuthorizer{decision: request.Allow, reason: "so"}, "", "", authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "so"}},
		{fixedAuthorizer{decision: request.Deny, reason: "so"}, "", "", authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "so"}},
		{fixedAuthorizer{decision: request.NoOpinion}, "a=b", "a", authorizationv1.SubjectAccessReviewStatus{}},
		{fixedAuthorizer{decision: request.Allow, err: errors.New("oops")}, "", "", authorizationv1.SubjectAccessReviewStatus{Allowed: true, EvaluationError: "oops"}},
		{fixedAuthorizer{decision: request.NoOpinion, err: errors.New("oops")}, "a", "a in", authorizationv1.SubjectAccessReviewStatus{
			EvaluationError: "oops; spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error"}},
	} {
		r := &authorizationv1.SelfSubjectAccessReview{}
		r.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}
		if tt.fields != "" {
			r.Spec.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: tt.fields}
			r.Spec.ResourceAttributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{RawSelector: tt.labels}
		}
		r.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true, Reason: "what the client says of it"}
		out, err := ask(t.Context(), Actions(&tt.authorizer, nil), "selfsubjectaccessreviews", r)
		if err != nil || out.(*authorizationv1.SelfSubjectAccessReview).Status != tt.want {
			t.Errorf("got %+v, %v, want %+v", r.Status, err, tt.want)
		}
		if a := tt.authorizer.asked; a.User.Name != "alice" || a.Version != "*" || !a.IsResource || (a.Selected == nil) != (tt.fields == "") {
			t.Errorf("asked about %+v", a)
		}
	}
}

// TestNobodyWaits: a review whose request has ended gets no answer, because then the authorizer's
// error may only say that the request has ended.
func TestNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "u", NonResourceAttributes: &authorizationv1.NonResourceAttributes{}}}
	if out, err := ask(ctx, Actions(&fixedAuthorizer{decision: request.Allow}, nil), "subjectaccessreviews", r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v, %v", out, err)
	}
}

// TestRulesReview: rules for resources and rules for paths are two lists.
func TestRulesReview(t *testing.T) {
	for _, tt := range []struct {
		name string
		list list
		want string
	}{
		{"none", list{}, `{[] [] false }`},
		{"incomplete", list{incomplete: true, err: errors.New("oops")}, `{[] [] true oops}`},
		{"both", list{rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"p"}},
			{Verbs: []string{"*"}, NonResourceURLs: []string{"/x/*"}},
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, NonResourceURLs: []string{"*"}},
			{Verbs: []string{"get"}},
		}}, `{[{[get] [] [pods] [p]} {[*] [*] [*] []}] [{[*] [/x/*]} {[*] [*]}] false }`},
	} {
		r := &authorizationv1.SelfSubjectRulesReview{ObjectMeta: meta.ObjectMeta{Name: "x"}, Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "ns"}}
		out, err := ask(t.Context(), Actions(nil, tt.list), "selfsubjectrulesreviews", r)
		if err != nil {
			t.Fatal(err)
		}
		got := out.(*authorizationv1.SelfSubjectRulesReview)
		if text := fmt.Sprint(got.Status); text != tt.want || got.Name != "" || got.Status.ResourceRules == nil || got.Status.NonResourceRules == nil {
			t.Errorf("%s: got %s, want %s, and nothing of the question", tt.name, text, tt.want)
		}
	}
	_, err := ask(t.Context(), Actions(nil, list{}), "selfsubjectrulesreviews", &authorizationv1.SelfSubjectRulesReview{})
	if err == nil || err.Error() != "no namespace on request" {
		t.Errorf("without a namespace: got %v", err)
	}
}
