package matching

import (
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file lists the requests that no hook sees, whatever its rules say.

const registrationGroup = "admissionregistration.k8s.io"

// registrations are the kinds that configure webhooks and policies. No webhook is called for them,
// so that a faulty webhook cannot prevent its own removal.
var registrations = []string{
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
}

// ExemptFromWebhooks reports whether no webhook is called for a request.
func ExemptFromWebhooks(a *admission.Attributes) bool {
	return a.Kind.Group == registrationGroup && slices.Contains(registrations, a.Kind.Kind)
}

// beyondPolicies are the resources that no policy judges: those that configure policies, and the
// reviews, without which a cluster does not work.
var beyondPolicies = []meta.GroupResource{
	{Group: registrationGroup, Resource: "validatingadmissionpolicies"},
	{Group: registrationGroup, Resource: "validatingadmissionpolicybindings"},
	{Group: registrationGroup, Resource: "mutatingadmissionpolicies"},
	{Group: registrationGroup, Resource: "mutatingadmissionpolicybindings"},
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// ExemptFromPolicies reports whether no policy is called for a request.
func ExemptFromPolicies(a *admission.Attributes) bool {
	return slices.Contains(beyondPolicies, a.Resource.GroupResource())
}
