package noderestriction

import (
	"slices"
	"strings"
)

// kubeletLabels are the labels under kubernetes.io that a kubelet may set on its own node, in
// addition to those under kubeletPrefixes (KEP-279).
var (
	kubeletLabels = []string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
		"beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}
	kubeletPrefixes = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// restrictedPrefix is the prefix of labels that no kubelet may set. Administrators use them to keep
// pods away from nodes that may be compromised.
const restrictedPrefix = "node-restriction.kubernetes.io"

// othersLabels returns the sorted keys of the labels that differ between two states of a node and
// that its kubelet may not change: most labels under kubernetes.io and k8s.io. If it could change
// them, a compromised kubelet could attract pods that are not meant for its node.
func othersLabels(now, was map[string]string) []string {
	var others []string
	for key, value := range now {
		if old, ok := was[key]; (!ok || old != value) && !isKubelets(key) {
			others = append(others, key)
		}
	}
	for key := range was {
		if _, ok := now[key]; !ok && !isKubelets(key) {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	return others
}

// isKubelets reports whether a kubelet may set the label key on its own node. It may set labels of
// other domains than those of Kubernetes, and labels without a domain. For example, it may set
// example.com/rack, topology.kubernetes.io/zone and node.kubernetes.io/any, but neither
// node-role.kubernetes.io/control-plane nor node-restriction.kubernetes.io/any.
func isKubelets(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return true
	}
	if within(prefix, restrictedPrefix) {
		return false
	}
	if !within(prefix, "kubernetes.io") && !within(prefix, "k8s.io") {
		return true
	}
	return slices.Contains(kubeletLabels, key) ||
		slices.ContainsFunc(kubeletPrefixes, func(p string) bool { return within(prefix, p) })
}

// within reports whether domain equals of or is a subdomain of it.
func within(domain, of string) bool {
	below, ok := strings.CutSuffix(domain, of)
	return ok && (below == "" || strings.HasSuffix(below, "."))
}
