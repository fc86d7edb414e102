package admissionregistrationv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DefaultTimeoutSeconds is how long the API server waits for the answer of a webhook by default.
const DefaultTimeoutSeconds = 10

func defaultValidatingWebhook(w *ValidatingWebhook) {
	scheme.SetPointer(&w.FailurePolicy, Fail)
	scheme.SetPointer(&w.TimeoutSeconds, DefaultTimeoutSeconds)
	defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
}

func defaultMutatingWebhook(w *MutatingWebhook) {
	scheme.SetPointer(&w.FailurePolicy, Fail)
	scheme.SetPointer(&w.TimeoutSeconds, DefaultTimeoutSeconds)
	scheme.SetPointer(&w.ReinvocationPolicy, NeverReinvocationPolicy)
	defaultMatch(&w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector)
}

func defaultMatchResources(m *MatchResources) {
	defaultMatch(&m.MatchPolicy, &m.NamespaceSelector, &m.ObjectSelector)
}

// defaultMatch selects all objects of all namespaces, in whichever version they come.
func defaultMatch(policy **MatchPolicyType, namespaces, objects **meta.LabelSelector) {
	scheme.SetPointer(policy, Equivalent)
	scheme.SetPointer(namespaces, meta.LabelSelector{})
	scheme.SetPointer(objects, meta.LabelSelector{})
}

func defaultServiceReference(s *ServiceReference) { scheme.SetPointer(&s.Port, 443) }

func defaultRule(r *Rule) { scheme.SetPointer(&r.Scope, AllScopes) }

func defaultValidatingPolicy(s *ValidatingAdmissionPolicySpec) {
	scheme.SetPointer(&s.FailurePolicy, Fail)
}

func defaultMutatingPolicy(s *MutatingAdmissionPolicySpec) { scheme.SetPointer(&s.FailurePolicy, Fail) }
