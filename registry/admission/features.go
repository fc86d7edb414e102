package admission

import (
	"context"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// NodeDeclaredFeatureValidator is the plugin of that name (KEP-5328). A node declares in its status
// which features its kubelet has. The plugin refuses a change of a pod that needs a feature which
// the pod's node does not declare.
type NodeDeclaredFeatureValidator struct {
	node ReadNode
}

// NewNodeDeclaredFeatureValidator returns the plugin.
func NewNodeDeclaredFeatureValidator(node ReadNode) NodeDeclaredFeatureValidator {
	return NodeDeclaredFeatureValidator{node}
}

// changeFeatures are the features that a change of a pod can need, sorted by name. needed reports
// whether a change needs the feature. The other features that nodes declare matter only to the
// scheduler.
var changeFeatures = []struct {
	name   string
	needed func(now, old *corev1.PodSpec) bool
}{
	{"InPlacePodLevelResourcesVerticalScaling", func(now, old *corev1.PodSpec) bool {
		return !scheme.Equal(&now.Resources, &old.Resources)
	}},
	{"InPlacePodVerticalScalingInitContainers", resizesInit},
}

// resizesInit reports whether the resources of an init container change, apart from sidecars. An
// update neither adds nor removes init containers.
func resizesInit(now, old *corev1.PodSpec) bool {
	for i := range old.InitContainers {
		was := &old.InitContainers[i]
		if !corev1.IsSidecar(was) && i < len(now.InitContainers) &&
			!scheme.Equal(&now.InitContainers[i].Resources, &was.Resources) {
			return true
		}
	}
	return false
}

// Name is the plugin's name.
func (NodeDeclaredFeatureValidator) Name() string { return "NodeDeclaredFeatureValidator" }

// Handles is true for updates.
func (NodeDeclaredFeatureValidator) Handles(op Operation) bool { return op == Update }

// Validate refuses an update or resize that needs a feature which the node does not declare.
func (p NodeDeclaredFeatureValidator) Validate(ctx context.Context, a *Attributes) error {
	if a.Subresource != "" && a.Subresource != "resize" {
		return nil
	}
	pod, old := changedOnNode(a)
	if pod == nil {
		return nil
	}
	var needed []string
	for i := range changeFeatures {
		if f := &changeFeatures[i]; f.needed(&pod.Spec, &old.Spec) {
			needed = append(needed, f.name)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	node, err := nodeFor(ctx, a, p.node, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	lacks := slices.DeleteFunc(needed, func(f string) bool { return slices.Contains(node.Status.DeclaredFeatures, f) })
	if len(lacks) == 0 {
		return nil
	}
	return a.Forbidden("pod update requires features %s which are not available on node %q",
		strings.Join(lacks, ", "), node.Name)
}
