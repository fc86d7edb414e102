package pods

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/controller"
)

// NodeView is the part of a node that NodeInformer keeps. Heartbeats of kubelets do
// not change it.
type NodeView struct {
	// OutOfService says that the node is not ready and has the taint
	// node.kubernetes.io/out-of-service, by which an operator states that the machine is off. Pods
	// of the node may then be deleted without waiting for its kubelet (KEP-2268).
	OutOfService bool
	Zone         string // label topology.kubernetes.io/zone; "" if there is none
	// Counted says that the node is ready and not part of the control plane. Only the CPU of such
	// nodes counts for the share of a zone.
	Counted  bool
	MilliCPU int64 // allocatable CPU in thousandths
}

// NodeInformer returns the Informer of nodes, which all loops of a run share.
func NodeInformer(in *controller.Informers) *controller.Informer[NodeView] {
	return controller.InformerOf(in, corev1.GroupVersion.WithResource("nodes"), func(n *corev1.Node) *NodeView {
		out := !nodeReady(n) && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == "node.kubernetes.io/out-of-service"
		})
		return &NodeView{
			OutOfService: out, Zone: n.Labels["topology.kubernetes.io/zone"],
			Counted: nodeReady(n) && !controlPlane(n), MilliCPU: n.Status.Allocatable["cpu"].MilliValue(),
		}
	})
}

// controlPlane reports whether a node has the label of the control plane or its former label,
// node-role.kubernetes.io/master.
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
