package noderestriction

import (
	"slices"
	"strings"
)

// kubeletLabels are the labels of Kubernetes that a kubelet sets on its own node, beside those of
// its prefixes.
var (
	kubeletLabels = []string{
		"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
		"beta.kubernetes.io/instance-type", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}
	kubeletPrefixes = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
)

// restrictedPrefix is that of labels which say where privileged pods may run.
const restrictedPrefix = "node-restriction.kubernetes.io"

// othersLabels returns, sorted, the labels that differ between two states of a node and are not for
// its kubelet to change: Kubernetes' own, by which it could have pods come to it that are not meant
// for it.
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
	return slices.Contains(kubeletLabels, key) || slices.ContainsFunc(kubeletPrefixes, func(p string) bool { return within(prefix, p) })
}

// within reports whether a domain is another one or below it.
func within(domain, of string) bool {
	below, ok := strings.CutSuffix(domain, of)
	return ok && (below == "" || strings.HasSuffix(below, "."))
}
