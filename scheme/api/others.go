package api

import "github.com/coracle-project/coracle/scheme/meta"

// NotBuilt are the alpha and beta versions that Kubernetes can serve and this server cannot, by
// group. They are disabled by default in Kubernetes.
var NotBuilt = map[string][]string{
	"admissionregistration.k8s.io": {"v1alpha1", "v1beta1"},
	"authentication.k8s.io":        {"v1alpha1", "v1beta1"},
	"certificates.k8s.io":          {"v1alpha1", "v1beta1"},
	"coordination.k8s.io":          {"v1alpha2", "v1beta1"},
	"flowcontrol.apiserver.k8s.io": {"v1beta1", "v1beta2", "v1beta3"},
	"internal.apiserver.k8s.io":    {"v1alpha1"},
	"networking.k8s.io":            {"v1beta1"},
	"resource.k8s.io":              {"v1alpha3", "v1beta1", "v1beta2"},
	"scheduling.k8s.io":            {"v1alpha2"},
	"storage.k8s.io":               {"v1alpha1", "v1beta1"},
	"storagemigration.k8s.io":      {"v1beta1"},
}

// unserved are the versions that Kubernetes has types for and does not serve, by group: it served
// them once, or it sends them to webhooks.
var unserved = map[string][]string{
	"admission.k8s.io":          {"v1", "v1beta1"},
	"apiextensions.k8s.io":      {"v1beta1"},
	"apiregistration.k8s.io":    {"v1beta1"},
	"apps":                      {"v1beta1", "v1beta2"},
	"authorization.k8s.io":      {"v1beta1"},
	"batch":                     {"v1beta1"},
	"discovery.k8s.io":          {"v1beta1"},
	"events.k8s.io":             {"v1beta1"},
	"extensions":                {"v1beta1"},
	"imagepolicy.k8s.io":        {"v1alpha1"},
	"node.k8s.io":               {"v1alpha1", "v1beta1"},
	"rbac.authorization.k8s.io": {"v1alpha1", "v1beta1"},
	"scheduling.k8s.io":         {"v1beta1"},
}

// Others returns the group versions that Kubernetes has types of and that have no kinds here.
func Others() (list []meta.GroupVersion) {
	for _, groups := range []map[string][]string{NotBuilt, unserved} {
		for group, versions := range groups {
			for _, v := range versions {
				list = append(list, meta.GroupVersion{Group: group, Version: v})
			}
		}
	}
	return list
}
