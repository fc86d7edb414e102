package admission

import (
	"context"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// PodTopologyLabels tells pods where their node is: a pod that is bound to a node, or created on
// one, gets the labels of its zone and region.
type PodTopologyLabels struct {
	nodes NodeLabels
}

// NodeLabels returns the labels of a node as they are now. The error is a *meta.StatusError.
type NodeLabels func(ctx context.Context, node string) (meta.Lookup, error)

// NewPodTopologyLabels returns the plugin. It looks into the labels of nodes.
func NewPodTopologyLabels(n NodeLabels) PodTopologyLabels { return PodTopologyLabels{n} }

// Name is the plugin's name.
func (PodTopologyLabels) Name() string { return "PodTopologyLabels" }

// Handles is true for creates.
func (PodTopologyLabels) Handles(op Operation) bool { return op == Create }

// Mutate adds the labels to the binding or the pod. A node that is not known has none.
func (p PodTopologyLabels) Mutate(ctx context.Context, a *Attributes) error {
	node := nodeOf(a)
	if node == "" {
		return nil
	}
	labels, err := p.nodes(ctx, node)
	if meta.IsNotFound(err) || meta.IsBadRequest(err) { // a name that no node can have is for validation to refuse
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

// nodeOf is the node that a pod gets by a write, "" if the write is about something else.
func nodeOf(a *Attributes) string {
	if pod := podOf(a); pod != nil {
		return pod.Spec.NodeName
	}
	if b, ok := a.Object.(*corev1.Binding); ok && a.Subresource == "binding" && b.Target.Kind == "Node" {
		return b.Target.Name
	}
	return ""
}
