package admission

import (
	"context"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// PodTopologyLabels is the plugin of that name (KEP-4742). A pod that is bound to a node, or
// created with a nodeName, gets the topology labels (zone, region) of the node, so that containers
// can read them.
type PodTopologyLabels struct {
	nodes NodeLabels
}

// NodeLabels returns the current labels of a node. The error is a *meta.StatusError.
type NodeLabels func(ctx context.Context, node string) (meta.Lookup, error)

// NewPodTopologyLabels returns the plugin. It reads the labels of nodes through n.
func NewPodTopologyLabels(n NodeLabels) PodTopologyLabels { return PodTopologyLabels{n} }

// Name is the plugin's name.
func (PodTopologyLabels) Name() string { return "PodTopologyLabels" }

// Handles is true for creates.
func (PodTopologyLabels) Handles(op Operation) bool { return op == Create }

// Mutate adds the labels to the pod or the binding. If the node does not exist, it adds none.
func (p PodTopologyLabels) Mutate(ctx context.Context, a *Attributes) error {
	node := nodeOf(a)
	if node == "" {
		return nil
	}
	labels, err := p.nodes(ctx, node)
	if meta.IsNotFound(err) || meta.IsBadRequest(err) { // validation refuses a name that no node can have
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range [...]string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"} {
		value, ok := labels.Get(key)
		if !ok {
			continue
		}
		m := a.Meta()
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels[key] = value
	}
	return nil
}

// nodeOf returns the node that a write assigns to a pod, "" if the write assigns none.
func nodeOf(a *Attributes) string {
	if pod := podOf(a); pod != nil {
		return pod.Spec.NodeName
	}
	if b, ok := a.Object.(*corev1.Binding); ok && a.Subresource == "binding" && b.Target.Kind == "Node" {
		return b.Target.Name
	}
	return ""
}
