// Package admissionregistration knows what is special about the resources of
// admissionregistration.k8s.io: the configurations of webhooks, and the policies of admission with
// their bindings.
//
// Resources returns the declarations that a server makes stores from. Messages are those of
// kube-apiserver, in its order. Expressions are compiled (scheme/cel/policies); match conditions
// that an update leaves as they were are not judged again.
//
// Not here: the verbs (registry), types and defaults (scheme/api/admissionregistrationv1),
// admission itself (registry/admission).
//
// Read: webhook.go, then validatingpolicy.go.
package admissionregistration

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Resources returns the resources of the group.
func Resources() []registry.Resource {
	return []registry.Resource{
		validatingWebhooks(), mutatingWebhooks(),
		validatingPolicies(), validatingBindings(), mutatingPolicies(), mutatingBindings(),
	}
}

func resource(name string) meta.GroupResource {
	return meta.GroupResource{Group: admissionregistrationv1.GroupVersion.Group, Resource: name}
}

// reservedSuffix ends the names of what an administrator configures in files.
const reservedSuffix = ".static.k8s.io"

// nameWarnings tells of a name that will not be allowed.
func nameWarnings[T meta.Object](obj, _ T) []string {
	if !strings.HasSuffix(obj.GetObjectMeta().Name, reservedSuffix) {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: names ending with %q are reserved for static manifest-based configurations "+
		"and cannot be managed via the API", reservedSuffix)}
}
