// Package admissionregistration declares the resources of the group admissionregistration.k8s.io:
// the configurations of admission webhooks, and admission policies with their bindings.
//
// Words. A policy is a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy; a binding puts a
// policy into effect. Match resources say which requests a policy or binding is for. Match
// conditions are CEL expressions that exclude some of these requests.
//
// Laws:
//
//   - The texts and the order of errors are those of kube-apiserver.
//
//   - Every expression of a new object compiles. Match conditions that an update does not change
//     are not compiled again; other expressions are.
//
//   - An update of a webhook configuration may keep a violation of a rule that is younger than the
//     kind, if the old object has the violation already (lenient).
//
// Resources returns the declarations. The server makes stores from them at its start. CheckNew is
// for objects that come from files (registry/admission/hookfiles). All functions are safe for
// concurrent use.
//
// Not here: the verbs (registry), the Go types and their defaults
// (scheme/api/admissionregistrationv1), the compilation of expressions (scheme/cel/policies).
// What the objects do to writes is in registry/admission/webhooks and
// registry/admission/admissionpolicy.
//
// Reading order: webhook.go and webhookcheck.go, then validatingpolicy.go and policy.go, then
// mutatingpolicy.go; match.go is common to all. reserved.go has what concerns objects in files.
package admissionregistration

import (
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the declarations of the resources of the group admissionregistration.k8s.io.
// reserve refuses new objects whose names are reserved for files; without it they get a warning.
func Resources(reserve bool) []registry.Resource {
	all := []registry.Resource{
		validatingWebhooks(), mutatingWebhooks(),
		validatingPolicies(), validatingBindings(), mutatingPolicies(), mutatingBindings(),
	}
	if reserve {
		for i := range all {
			reserveNames(&all[i].Strategy)
		}
	}
	return all
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: admissionregistrationv1.GroupVersion.Group, Resource: name}
}
