package admissionpolicy_test

import (
	"errors"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/admissionpolicy"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

type (
	validatingFiles = admissionpolicy.Files[*v1.ValidatingAdmissionPolicy, *v1.ValidatingAdmissionPolicyBinding]
	mutatingFiles   = admissionpolicy.Files[*v1.MutatingAdmissionPolicy, *v1.MutatingAdmissionPolicyBinding]
)

// TestFiles: policies in files run before those of the API, also if their names are the same. A
// binding is only for a policy from the same place. Policies in files alone judge policies.
func TestFiles(t *testing.T) {
	w := newWorld(t)
	adds := func(letter string) string {
		return applies("Object{data: {'a': object.data['a'] + '" + letter + "'}}")
	}
	w.set(mutatingPolicy("p", adds("1")), mutatingBinding("b", "p", ""), mutatingBinding("unused", "only-in-file", ""))
	policies, bindings := w.mutating, w.mutatingBound
	w.set(mutatingPolicy("p", adds("0")), mutatingBinding("b", "p", ""), mutatingPolicy("only-in-file", adds("x")),
		validatingPolicy("v", "\n  validations: [{expression: 'false'}]"), validatingBinding("v", "v", "\n  validationActions: [Deny]"))
	mutating := admissionpolicy.NewFiles(w.mutating.Items, w.mutatingBound.Items)
	w.validating.Items[0].Spec.MatchConstraints.ResourceRules = nil // it matches everything
	validating := admissionpolicy.NewFiles(w.validating.Items, w.validatingBound.Items)
	w.set()
	none := admissionpolicy.NewFiles[*v1.MutatingAdmissionPolicy, *v1.MutatingAdmissionPolicyBinding](nil, nil)
	w.mutating, w.mutatingBound = policies, bindings
	w.mutator.WithFiles(func() *mutatingFiles { return mutating })
	mutated := func(what, want string) {
		t.Helper()
		a := w.write(admission.Create, configMap("a", ""), nil)
		if err := w.mutator.Mutate(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if got := dataOf(a); got != "a="+want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	mutated("both", "01")
	mutating = none
	mutated("no files", "1")

	w.validator.WithFiles(func() *validatingFiles { return validating })
	for resource, want := range map[meta.GroupResource]bool{
		{Resource: "configmaps"}: true,
		{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}:     true,
		{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"}: true,
		{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:                    false,
	} {
		a := w.write(admission.Create, configMap(), nil)
		a.Resource.Group, a.Resource.Resource = resource.Group, resource.Resource
		if err := w.validator.Validate(t.Context(), a); (err != nil) != want {
			t.Errorf("%v: got %v", resource, err)
		}
	}
	w.errPolicies = errors.New("the API's policies cannot be read")
	a := w.write(admission.Create, configMap(), nil)
	a.Resource.Group, a.Resource.Resource = "admissionregistration.k8s.io", "validatingadmissionpolicies"
	if err := w.validator.Validate(t.Context(), a); err == nil || errors.Is(err, w.errPolicies) {
		t.Errorf("got %v: whoever repairs the API's policies must not depend on them", err)
	}
}
