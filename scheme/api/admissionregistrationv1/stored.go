package admissionregistrationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the versions in which objects may be stored although nobody is served in
// them. Webhooks of v1beta1 and bindings of v1alpha1 have defaults of their own; everything else is
// as in v1.
func addStored(s *scheme.Scheme) {
	add := func(version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: version, Kind: kind},
			GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("v1beta1", "ValidatingWebhookConfiguration", &validatingConfigurationBeta{})
	add("v1beta1", "MutatingWebhookConfiguration", &mutatingConfigurationBeta{})
	add("v1beta1", "ValidatingAdmissionPolicyBinding", &ValidatingAdmissionPolicyBinding{})
	add("v1beta1", "MutatingAdmissionPolicyBinding", &MutatingAdmissionPolicyBinding{})
	add("v1alpha1", "ValidatingAdmissionPolicyBinding", &validatingBindingAlpha{})
	add("v1alpha1", "MutatingAdmissionPolicyBinding", &mutatingBindingAlpha{})
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		add(version, "ValidatingAdmissionPolicy", &ValidatingAdmissionPolicy{})
		add(version, "MutatingAdmissionPolicy", &MutatingAdmissionPolicy{})
	}
	scheme.AddDefaulting(s, defaultValidatingWebhookBeta)
	scheme.AddDefaulting(s, defaultMutatingWebhookBeta)
	scheme.AddDefaulting(s, func(b *validatingBindingAlpha) { defaultParamRefAlpha(b.Spec.ParamRef) })
	scheme.AddDefaulting(s, func(b *mutatingBindingAlpha) { defaultParamRefAlpha(b.Spec.ParamRef) })
}

type validatingConfigurationBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Webhooks        []validatingWebhookBeta `json:"webhooks,omitempty" pb:"2"`
}

type mutatingConfigurationBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Webhooks        []mutatingWebhookBeta `json:"webhooks,omitempty" pb:"2"`
}

type (
	validatingWebhookBeta  ValidatingWebhook
	mutatingWebhookBeta    MutatingWebhook
	validatingBindingAlpha ValidatingAdmissionPolicyBinding
	mutatingBindingAlpha   MutatingAdmissionPolicyBinding
)

func defaultValidatingWebhookBeta(w *validatingWebhookBeta) {
	scheme.SetPointer(&w.FailurePolicy, Ignore)
	scheme.SetPointer(&w.MatchPolicy, Exact)
	scheme.SetPointer(&w.SideEffects, SideEffectClassUnknown)
	scheme.SetPointer(&w.TimeoutSeconds, 30)
	defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
	defaultReviewsBeta(&w.AdmissionReviewVersions)
}

func defaultMutatingWebhookBeta(w *mutatingWebhookBeta) {
	scheme.SetPointer(&w.FailurePolicy, Ignore)
	scheme.SetPointer(&w.MatchPolicy, Exact)
	scheme.SetPointer(&w.SideEffects, SideEffectClassUnknown)
	scheme.SetPointer(&w.TimeoutSeconds, 30)
	scheme.SetPointer(&w.ReinvocationPolicy, NeverReinvocationPolicy)
	defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
	defaultReviewsBeta(&w.AdmissionReviewVersions)
}

func defaultReviewsBeta(versions *[]string) {
	if len(*versions) == 0 {
		*versions = []string{"v1beta1"}
	}
}

func defaultParamRefAlpha(r *ParamRef) {
	if r != nil {
		scheme.SetPointer(&r.ParameterNotFoundAction, DenyAction)
	}
}
