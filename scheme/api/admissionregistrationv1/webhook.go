package admissionregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// ValidatingWebhookConfiguration lists webhooks that may refuse requests but not change them.
type ValidatingWebhookConfiguration struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The webhooks.
	Webhooks []ValidatingWebhook `json:"webhooks,omitempty" pb:"2" list:"map,key=name" patch:"merge,key=name"`
}

// ValidatingWebhookConfigurationList is a list of configurations of validating webhooks.
type ValidatingWebhookConfigurationList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The configurations.
	Items []ValidatingWebhookConfiguration `json:"items" pb:"2"`
}

// ValidatingWebhook is a server that is asked whether a request may pass, and the requests that it
// is asked about.
type ValidatingWebhook struct {
	// Name of the webhook, unique in the configuration: a domain with at least three segments, such
	// as "image.policy.example.com".
	Name string `json:"name" pb:"1"`
	// How to reach the server.
	ClientConfig WebhookClientConfig `json:"clientConfig" pb:"2"`
	// Requests that the webhook is asked about, if one rule matches.
	Rules []RuleWithOperations `json:"rules,omitempty" pb:"3" list:"atomic"`
	// What becomes of a request if there is no proper answer: Fail (the default) refuses it, Ignore
	// lets it pass.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" pb:"4" enum:"Fail,Ignore"`
	// Whether a request for the same object in another version or group matches the rules, too
	// (Equivalent, the default), or not (Exact).
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" pb:"9" enum:"Equivalent,Exact"`
	// Labels of the object's namespace, or of the object if it is a namespace. What is in no
	// namespace is always selected. Empty, the default, selects all.
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"5"`
	// Labels of the object, or of the one that is to be replaced: one of them must be selected.
	// Empty, the default, selects all. Whoever writes an object can evade this.
	ObjectSelector *meta.LabelSelector `json:"objectSelector,omitempty" pb:"10"`
	// What the webhook changes elsewhere: None, or NoneOnDryRun if it leaves that when the request
	// is a dry run. Dry runs that would ask other webhooks are refused.
	SideEffects *SideEffectClass `json:"sideEffects" pb:"6" enum:"None,NoneOnDryRun,Some,Unknown"`
	// How many seconds to wait for the answer: 1 to 30, 10 by default.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" pb:"7"`
	// Versions of AdmissionReview that the webhook understands, the preferred one first. One must
	// be known to the API server.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" pb:"8" list:"atomic"`
	// Conditions that the request must meet, all of them; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" pb:"11" list:"map,key=name" patch:"merge,key=name"`
}

// MutatingWebhookConfiguration lists webhooks that may change the objects of requests, or refuse
// them.
type MutatingWebhookConfiguration struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The webhooks.
	Webhooks []MutatingWebhook `json:"webhooks,omitempty" pb:"2" list:"map,key=name" patch:"merge,key=name"`
}

// MutatingWebhookConfigurationList is a list of configurations of mutating webhooks.
type MutatingWebhookConfigurationList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The configurations.
	Items []MutatingWebhookConfiguration `json:"items" pb:"2"`
}

// MutatingWebhook is a server that may change the object of a request, and the requests that it is
// asked about.
type MutatingWebhook struct {
	// Name of the webhook, unique in the configuration: a domain with at least three segments, such
	// as "sidecars.example.com".
	Name string `json:"name" pb:"1"`
	// How to reach the server.
	ClientConfig WebhookClientConfig `json:"clientConfig" pb:"2"`
	// Requests that the webhook is asked about, if one rule matches.
	Rules []RuleWithOperations `json:"rules,omitempty" pb:"3" list:"atomic"`
	// What becomes of a request if there is no proper answer: Fail (the default) refuses it, Ignore
	// lets it pass.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" pb:"4" enum:"Fail,Ignore"`
	// Whether a request for the same object in another version or group matches the rules, too
	// (Equivalent, the default), or not (Exact).
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" pb:"9" enum:"Equivalent,Exact"`
	// Labels of the object's namespace, or of the object if it is a namespace. What is in no
	// namespace is always selected. Empty, the default, selects all.
	NamespaceSelector *meta.LabelSelector `json:"namespaceSelector,omitempty" pb:"5"`
	// Labels of the object, or of the one that is to be replaced: one of them must be selected.
	// Empty, the default, selects all. Whoever writes an object can evade this.
	ObjectSelector *meta.LabelSelector `json:"objectSelector,omitempty" pb:"11"`
	// What the webhook changes elsewhere: None, or NoneOnDryRun if it leaves that when the request
	// is a dry run. Dry runs that would ask other webhooks are refused.
	SideEffects *SideEffectClass `json:"sideEffects" pb:"6" enum:"None,NoneOnDryRun,Some,Unknown"`
	// How many seconds to wait for the answer: 1 to 30, 10 by default.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" pb:"7"`
	// Versions of AdmissionReview that the webhook understands, the preferred one first. One must
	// be known to the API server.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" pb:"8" list:"atomic"`
	// Whether the webhook is asked again if others change the object after it: IfNeeded, or Never
	// (the default).
	ReinvocationPolicy *ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" pb:"10" enum:"IfNeeded,Never"`
	// Conditions that the request must meet, all of them; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" pb:"12" list:"map,key=name" patch:"merge,key=name"`
}

// SideEffectClass tells what a webhook changes beside the object.
type SideEffectClass string

// Values of SideEffectClass.
const (
	SideEffectClassUnknown      SideEffectClass = "Unknown"
	SideEffectClassNone         SideEffectClass = "None"
	SideEffectClassSome         SideEffectClass = "Some"
	SideEffectClassNoneOnDryRun SideEffectClass = "NoneOnDryRun"
)

// WebhookClientConfig tells how to reach a webhook: by a URL, or as a service of the cluster.
type WebhookClientConfig struct {
	// Address of the webhook: https://host[:port][/path], without user, query or fragment.
	URL *string `json:"url,omitempty" pb:"3"`
	// The service that is the webhook.
	Service *ServiceReference `json:"service,omitempty" pb:"1"`
	// Certificates of the authorities that the webhook's own must come from, in PEM; those of the
	// system if empty.
	CABundle []byte `json:"caBundle,omitempty" pb:"2"`
}

// ServiceReference names a service that is a webhook.
type ServiceReference struct {
	// Where the service is.
	Namespace string `json:"namespace" pb:"1"`
	// The service, by its name.
	Name string `json:"name" pb:"2"`
	// Path of the requests; / by default.
	Path *string `json:"path,omitempty" pb:"3"`
	// Port of the service; 443 by default.
	Port *int32 `json:"port,omitempty" pb:"4"`
}
