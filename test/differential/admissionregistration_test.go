package differential

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	mutatingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy/storage"
	mutatingbindingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding/storage"
	mutatingwebhookstore "k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingwebhookconfiguration/storage"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/resolver"
	validatingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy/storage"
	validatingbindingstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding/storage"
	validatingwebhookstore "k8s.io/kubernetes/pkg/registry/admissionregistration/validatingwebhookconfiguration/storage"
)

// The registries are without an authorizer, which they would ask for the right to read parameters.
func init() {
	registration := func(kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
	}
	unresolved := resolver.ResourceResolverFunc(func(schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		return schema.GroupVersionResource{}, errors.New("nobody asks")
	})
	add(
		Row{Kind: registration("ValidatingWebhookConfiguration"), Resource: "validatingwebhookconfigurations", Cluster: true,
			REST: alone(validatingwebhookstore.NewREST)},
		Row{Kind: registration("MutatingWebhookConfiguration"), Resource: "mutatingwebhookconfigurations", Cluster: true,
			REST: alone(mutatingwebhookstore.NewREST)},
		Row{Kind: registration("ValidatingAdmissionPolicy"), Resource: "validatingadmissionpolicies", Cluster: true,
			REST: withStatus(func(o generic.RESTOptionsGetter) (*validatingstore.REST, *validatingstore.StatusREST, error) {
				return validatingstore.NewREST(o, nil, unresolved)
			})},
		Row{Kind: registration("ValidatingAdmissionPolicyBinding"), Resource: "validatingadmissionpolicybindings", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*validatingbindingstore.REST, error) {
				return validatingbindingstore.NewREST(o, nil, nil, unresolved)
			})},
		Row{Kind: registration("MutatingAdmissionPolicy"), Resource: "mutatingadmissionpolicies", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*mutatingstore.REST, error) {
				return mutatingstore.NewREST(o, nil, unresolved)
			})},
		Row{Kind: registration("MutatingAdmissionPolicyBinding"), Resource: "mutatingadmissionpolicybindings", Cluster: true,
			REST: alone(func(o generic.RESTOptionsGetter) (*mutatingbindingstore.REST, error) {
				return mutatingbindingstore.NewREST(o, nil, nil, unresolved)
			})},
	)
}
