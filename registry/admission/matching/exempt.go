package matching

import (
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file lists the requests that no hook of the API sees, whatever its rules say.

const registrationGroup = "admissionregistration.k8s.io"

// registrations are the kinds that configure webhooks and policies. No webhook of the API is called
// for them, so that a faulty webhook cannot prevent its own removal.
var registrations = []string{
	"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
}

// ExemptFromWebhooks reports whether no webhook of the API is called for a request. Webhooks in
// files may be called.
func ExemptFromWebhooks(a *admission.Attributes) bool {
	return a.Kind.Group == registrationGroup && slices.Contains(registrations, a.Kind.Kind)
}

// policyResources are the resources that configure policies.
var policyResources = []meta.GroupResource{
	{Group: registrationGroup, Resource: "validatingadmissionpolicies"},
	{Group: registrationGroup, Resource: "validatingadmissionpolicybindings"},
	{Group: registrationGroup, Resource: "mutatingadmissionpolicies"},
	{Group: registrationGroup, Resource: "mutatingadmissionpolicybindings"},
}

// reviews are the resources that no policy judges, because a cluster does not work without them.
var reviews = []meta.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// ExemptFromPolicies reports whether no policy of the API is called for a request.
func ExemptFromPolicies(a *admission.Attributes) bool {
	return slices.Contains(reviews, a.Resource.GroupResource()) || ConfiguresPolicies(a)
}

// ConfiguresPolicies reports whether a request is about policies or bindings. Only policies in
// files are called for it.
func ConfiguresPolicies(a *admission.Attributes) bool {
	return slices.Contains(policyResources, a.Resource.GroupResource())
}
