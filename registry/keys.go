package registry

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Keys are laid out as kube-apiserver lays them out, so that each server can read the store of the
// other.

// builtInGroups are the groups whose keys do not name the group, because kube-apiserver's core
// server stores them so. No two of their resources share a plural, except those that are the same
// objects in two groups. No group is added to the list: apiextensions.k8s.io and
// apiregistration.k8s.io are stored by the other two servers in kube-apiserver, whose keys name the
// group. Groups of other API servers, such as metrics.k8s.io, are not in its store.
var builtInGroups = map[string]bool{
	"":                             true,
	"admissionregistration.k8s.io": true,
	"apps":                         true,
	"authentication.k8s.io":        true,
	"authorization.k8s.io":         true,
	"autoscaling":                  true,
	"batch":                        true,
	"certificates.k8s.io":          true,
	"coordination.k8s.io":          true,
	"discovery.k8s.io":             true,
	"events.k8s.io":                true,
	"extensions":                   true,
	"flowcontrol.apiserver.k8s.io": true,
	"imagepolicy.k8s.io":           true,
	"internal.apiserver.k8s.io":    true,
	"networking.k8s.io":            true,
	"node.k8s.io":                  true,
	"policy":                       true,
	"rbac.authorization.k8s.io":    true,
	"resource.k8s.io":              true,
	"scheduling.k8s.io":            true,
	"storage.k8s.io":               true,
	"storagemigration.k8s.io":      true,
}

// historicalPrefixes are the prefixes of resources that had other names in early releases of
// Kubernetes. Keys kept those names.
var historicalPrefixes = map[meta.GroupResource]string{
	{Resource: "endpoints"}:                             "services/endpoints",
	{Resource: "nodes"}:                                 "minions",
	{Resource: "replicationcontrollers"}:                "controllers",
	{Resource: "services"}:                              "services/specs",
	{Group: "extensions", Resource: "ingresses"}:        "ingress",
	{Group: "networking.k8s.io", Resource: "ingresses"}: "ingress",
	// No longer served, but a store may still have them.
	{Group: "extensions", Resource: "podsecuritypolicies"}: "podsecuritypolicy",
	{Group: "policy", Resource: "podsecuritypolicies"}:     "podsecuritypolicy",
}

// KeyPrefix returns the part of a resource's keys that follows the prefix of the store, without
// slashes around it: the plural for Kubernetes' own groups, "group/plural" for others. Two
// resources share it only if they are the same objects in two groups (events, ingresses). If
// checkPlace has accepted both, no prefix contains another.
func KeyPrefix(gr meta.GroupResource) string {
	if prefix, ok := historicalPrefixes[gr]; ok {
		return prefix
	}
	if builtInGroups[gr.Group] {
		return gr.Resource
	}
	return gr.Group + "/" + gr.Resource
}

// checkPlace refuses a resource whose keys could collide with those of another. The plural must be
// a DNS label, as Kubernetes demands of custom resources. A group without a dot must be one of
// Kubernetes' own: the keys of a group called pods would lie within those of the resource pods.
func checkPlace(gr meta.GroupResource) error {
	if msgs := names.IsDNS1123Label(gr.Resource); len(msgs) > 0 {
		return fmt.Errorf("registry: the plural %q of the resource %s is no DNS label: %s", gr.Resource, gr, msgs[0])
	}
	if builtInGroups[gr.Group] || strings.Contains(gr.Group, ".") {
		return nil
	}
	return fmt.Errorf("registry: the group %q is not a domain: it needs a dot", gr.Group)
}
