package admission

import (
	"context"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// taintNotReady is the key of the taint of nodes that are not ready.
const taintNotReady = "node.kubernetes.io/not-ready"

// TaintNodesByCondition is the plugin of that name. It taints new nodes, so that no pod is
// scheduled to a node before the node controller has found it ready.
type TaintNodesByCondition struct{}

// Name is the plugin's name.
func (TaintNodesByCondition) Name() string { return "TaintNodesByCondition" }

// Handles is true for creates.
func (TaintNodesByCondition) Handles(op Operation) bool { return op == Create }

// Mutate adds the taint node.kubernetes.io/not-ready:NoSchedule to a new node.
func (TaintNodesByCondition) Mutate(_ context.Context, a *Attributes) error {
	node, ok := a.Object.(*corev1.Node)
	if !ok || a.Subresource != "" {
		return nil
	}
	taint := corev1.Taint{Key: taintNotReady, Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Effect == taint.Effect
	}) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return nil
}
