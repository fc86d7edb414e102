package registry

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// Keys are laid out as kube-apiserver lays them out, so that either can read what the other has
// stored.

// builtInGroups are the groups that kube-apiserver itself serves, and stores without naming the
// group: no two of their resources share a plural, but for those that are the same thing in two
// groups. The list is closed: metrics.k8s.io and other groups of the name are served by others, and
// apiextensions.k8s.io and apiregistration.k8s.io by servers of their own beside kube-apiserver's,
// which name the group as they do for everybody's.
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

// historicalPrefixes are of resources that were called otherwise when the first clusters stored
// them.
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

// KeyPrefix returns a resource's place under the store's prefix, without slashes around it: the
// plural for Kubernetes' own groups, "group/plural" for all others. Two resources share it only if
// they are the same thing in two groups (events and ingresses are), and none is within another's,
// as long as checkPlace has passed them.
func KeyPrefix(gr meta.GroupResource) string {
	if prefix, ok := historicalPrefixes[gr]; ok {
		return prefix
	}
	if builtInGroups[gr.Group] {
		return gr.Resource
	}
	return gr.Group + "/" + gr.Resource
}

// checkPlace refuses a resource that has no place of its own. Its plural is a DNS label, as
// Kubernetes demands of custom resources: paths are compared letter by letter, and plurals with
// their spelling in lower case. A group without a dot must be one of Kubernetes' own: keys of a
// group called pods would be within those of pods.
func checkPlace(gr meta.GroupResource) error {
	if msgs := names.IsDNS1123Label(gr.Resource); len(msgs) > 0 {
		return fmt.Errorf("registry: the plural %q of the resource %s is no DNS label: %s", gr.Resource, gr, msgs[0])
	}
	if builtInGroups[gr.Group] || strings.Contains(gr.Group, ".") {
		return nil
	}
	return fmt.Errorf("registry: the group %q is not a domain: it needs a dot", gr.Group)
}
