package admissionregistrationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}

// Scheme registers the kinds and their defaults.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion,
		&ValidatingWebhookConfiguration{}, &ValidatingWebhookConfigurationList{},
		&MutatingWebhookConfiguration{}, &MutatingWebhookConfigurationList{},
		&ValidatingAdmissionPolicy{}, &ValidatingAdmissionPolicyList{},
		&ValidatingAdmissionPolicyBinding{}, &ValidatingAdmissionPolicyBindingList{},
		&MutatingAdmissionPolicy{}, &MutatingAdmissionPolicyList{},
		&MutatingAdmissionPolicyBinding{}, &MutatingAdmissionPolicyBindingList{},
	)
	scheme.AddDefaulting(s, defaultValidatingWebhook)
	scheme.AddDefaulting(s, defaultMutatingWebhook)
	scheme.AddDefaulting(s, defaultServiceReference)
	scheme.AddDefaulting(s, defaultRule)
	scheme.AddDefaulting(s, defaultMatchResources)
	scheme.AddDefaulting(s, defaultValidatingPolicy)
	scheme.AddDefaulting(s, defaultMutatingPolicy)
	addStored(s)
})
