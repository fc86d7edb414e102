package pods

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/controller"
)

// Node is what controllers need to know of a node.
type Node struct {
	// OutOfService: the node is not ready, and somebody says that it is not going to be, so what
	// runs there does not any more.
	OutOfService bool
	Zone         string
	// Counted: the node is ready and not part of the control plane, so its CPU counts for its zone.
	Counted  bool
	MilliCPU int64 // allocatable
}

// NodesOf returns the Informer of nodes, which all controllers of a run share.
func NodesOf(in *controller.Informers) *controller.Informer[Node] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("nodes"), func(n *corev1.Node) *Node {
		out := !nodeReady(n) && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == "node.kubernetes.io/out-of-service"
		})
		return &Node{
			OutOfService: out, Zone: n.Labels["topology.kubernetes.io/zone"],
			Counted: nodeReady(n) && !controlPlane(n), MilliCPU: n.Status.Allocatable["cpu"].MilliValue(),
		}
	})
}

// controlPlane reports whether a node is part of the control plane. Pods of most services do not
// run there.
func controlPlane(n *corev1.Node) bool {
	_, is := n.Labels["node-role.kubernetes.io/control-plane"]
	_, was := n.Labels["node-role.kubernetes.io/master"]
	return is || was
}

func nodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
