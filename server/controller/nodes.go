package controller

import "github.com/coracle-project/coracle/scheme/api/corev1"

// nodeView is what controllers need to know of a node.
type nodeView struct {
	Zone string
}

// nodesOf returns the Informer of nodes, which all controllers of a run share.
func nodesOf(in *Informers) *Informer[nodeView] {
	return InformerOf(in, corev1.GroupVersion.WithResource("nodes"), func(n *corev1.Node) *nodeView {
		return &nodeView{Zone: n.Labels["topology.kubernetes.io/zone"]}
	})
}
