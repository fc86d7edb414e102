package admission

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme/meta"
)

// LimitPodHardAntiAffinityTopology is the plugin of that name. It refuses pods that must keep
// others off a whole zone: a required term of pod anti-affinity may only be about nodes.
type LimitPodHardAntiAffinityTopology struct{}

// hostnameLabel is the label whose value differs from node to node.
const hostnameLabel = "kubernetes.io/hostname"

// Name is the plugin's name.
func (LimitPodHardAntiAffinityTopology) Name() string { return "LimitPodHardAntiAffinityTopology" }

// Handles is true for creates and updates.
func (LimitPodHardAntiAffinityTopology) Handles(op Operation) bool {
	return op == Create || op == Update
}

// Validate refuses a pod with a required term of another topology than hostnameLabel. As in
// kube-apiserver, the answer names the pod by its own name, "" if that is yet to be generated.
func (LimitPodHardAntiAffinityTopology) Validate(_ context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	terms := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		if key := terms[i].TopologyKey; key != hostnameLabel {
			return meta.NewForbidden(a.Resource.GroupResource(), pod.Name, fmt.Errorf(
				"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed",
				key, hostnameLabel))
		}
	}
	return nil
}
