package admission_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/cel-go/common/types"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/cel"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/meta"
)

// countingAuthorizer notes its questions. It allows ann to get, and fails for paths.
type countingAuthorizer struct{ questions []request.Attributes }

// Authorize implements request.Authorizer.
func (a *countingAuthorizer) Authorize(_ context.Context, of *request.Attributes) (request.Decision, string, error) {
	a.questions = append(a.questions, *of)
	switch {
	case !of.IsResource:
		return request.NoOpinion, "", errors.New("broken")
	case of.User.Name == "ann" && of.Verb == "get":
		return request.Allow, "she may", nil
	}
	return request.Deny, "no", nil
}

// TestReviewed: expressions can read the request and ask for the rights of the user and of service
// accounts.
func TestReviewed(t *testing.T) {
	a := &admission.Attributes{
		Operation: admission.Update, Name: "web", Namespace: "shop", Subresource: "status", DryRun: true,
		Resource: meta.GroupVersionResource{Group: "apps", Version: "v1beta1", Resource: "deployments"},
		Kind:     meta.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
		User:     &request.User{Name: "ann", Groups: []string{"shop"}, Extra: map[string][]string{"team": {"a"}}},
		Options:  &meta.UpdateOptions{FieldManager: "kubectl"},
	}
	authorizer := &countingAuthorizer{}
	in := &policies.Inputs{
		Request: a.Reviewed(meta.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			meta.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}),
		Authorizer: admission.NewRights(t.Context(), authorizer, a.User),
	}
	for _, text := range []string{
		"request.kind.version == 'v1' && request.requestKind.version == 'v1beta1'",
		"request.resource.version == 'v1' && request.requestResource.version == 'v1beta1'",
		"request.operation == 'UPDATE' && request.dryRun && request.subResource == 'status'",
		"request.userInfo.username == 'ann' && request.userInfo.extra['team'] == ['a'] && !has(request.userInfo.uid)",
		"request.options == {'apiVersion': 'meta.k8s.io/v1', 'kind': 'UpdateOptions', 'fieldManager': 'kubectl'}",
		"authorizer.requestResource.check('get').allowed() && authorizer.requestResource.check('get').reason() == 'she may'",
		"!authorizer.serviceAccount('shop', 'robot').group('').resource('pods').check('get').allowed()",
		"!authorizer.serviceAccount('shop', 'robot').group('').resource('pods').check('get').allowed()",
		"authorizer.path('/x').check('get').errored() && authorizer.path('/x').check('get').error() == 'broken'",
	} {
		s := policies.New(t.Context())
		budget := cel.ObjectBudget
		results, err := s.Set(s.Compile(text, policies.Uses{Authorizer: true})).Evaluate(t.Context(), in, &budget)
		if err != nil || results[0].Err != nil || results[0].Value != types.True {
			t.Errorf("%s: got %v, %v", text, results, err)
		}
	}
	if len(authorizer.questions) != 3 {
		t.Errorf("the same question was asked twice: %v", authorizer.questions)
	}
	if q := authorizer.questions[0]; q.Subresource != "status" || q.Name != "web" || q.Namespace != "shop" || q.Resource != "deployments" {
		t.Errorf("requestResource asked about %+v", q)
	}
	if q := authorizer.questions[1]; q.User.Name != "system:serviceaccount:shop:robot" || len(q.User.Groups) != 2 {
		t.Errorf("the service account is %+v", q.User)
	}
	if (&admission.Attributes{}).ReviewedOptions() != nil {
		t.Error("a connect has options")
	}
}
