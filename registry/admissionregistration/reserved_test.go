package admissionregistration

import (
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestReservedNames: names are reserved for new objects of all kinds, and a strategy that reserves
// them still makes its own checks. An object that exists can be updated, with a warning.
func TestReservedNames(t *testing.T) {
	for _, r := range Resources(true) {
		obj := newObject(r.Kind)
		obj.GetObjectMeta().Name = "a" + ReservedSuffix
		check := func(old meta.Object) (errs field.ErrorList) {
			return r.Strategy.ValidateRequest(&registry.Request{Context: t.Context()}, nil, obj, old)
		}
		created, updated := check(nil), check(obj)
		if last := created[len(created)-1]; len(created) != len(updated)+1 || last.Error() != `metadata.name: Invalid value: "a.static.k8s.io": `+reservedText {
			t.Errorf("%s: got %v for a new object and %v for an old one", r.Kind, created, updated)
		}
		if got := r.Strategy.Warnings(obj, nil); got != nil {
			t.Errorf("%s: got warnings about a new object: %q", r.Kind, got)
		}
		if got := r.Strategy.Warnings(obj, obj); len(got) != 1 {
			t.Errorf("%s: got warnings about an update: %q", r.Kind, got)
		}
		obj.GetObjectMeta().Name = "a"
		if got := check(nil); len(got) != len(updated) {
			t.Errorf("%s: got %v for another name, want %v", r.Kind, got, updated)
		}
	}
}

func newObject(kind string) meta.Object {
	switch kind {
	case "ValidatingWebhookConfiguration":
		return &admissionregistrationv1.ValidatingWebhookConfiguration{}
	case "MutatingWebhookConfiguration":
		return &admissionregistrationv1.MutatingWebhookConfiguration{}
	case "ValidatingAdmissionPolicy":
		return &admissionregistrationv1.ValidatingAdmissionPolicy{}
	case "ValidatingAdmissionPolicyBinding":
		return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	case "MutatingAdmissionPolicy":
		return &admissionregistrationv1.MutatingAdmissionPolicy{}
	}
	return &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
}
