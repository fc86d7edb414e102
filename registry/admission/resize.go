package admission

import (
	"context"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ReadNode returns a node, which the caller must not change. The error is a *meta.StatusError.
type ReadNode func(ctx context.Context, name string) (*corev1.Node, error)

// PodResizeValidator is the plugin of that name. It refuses to resize a pod beyond the allocatable
// resources of its node, or on a node that does not run Linux.
type PodResizeValidator struct {
	node ReadNode
}

// NewPodResizeValidator returns the plugin.
func NewPodResizeValidator(node ReadNode) PodResizeValidator { return PodResizeValidator{node} }

// Name is the plugin's name.
func (PodResizeValidator) Name() string { return "PodResizeValidator" }

// Handles is true for updates.
func (PodResizeValidator) Handles(op Operation) bool { return op == Update }

// Validate refuses a resize that the node cannot do. The cause in the answer says whether the
// operating system of the node or its capacity is the reason.
func (p PodResizeValidator) Validate(ctx context.Context, a *Attributes) error {
	if a.Subresource != "resize" {
		return nil
	}
	pod, _ := changedOnNode(a)
	if pod == nil {
		return nil
	}
	node, err := nodeFor(ctx, a, p.node, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	if system, ok := node.Labels["kubernetes.io/os"]; ok && system != "linux" {
		return because(a.Forbidden("pod resize is only supported on linux nodes, node %q is %q", node.Name, system),
			"UnsupportedPlatform")
	}
	if lack := lacking(&pod.Spec, node.Status.Allocatable); lack != "" {
		return because(a.Forbidden("node didn't have enough allocatable resources: %s", lack), "NodeCapacity")
	}
	return nil
}

// changedOnNode returns the pod of an update, and the old one, if the pod is on a node and its spec
// has changed, so that its generation is another one. Otherwise it returns nil. The caller checks
// the subresource.
func changedOnNode(a *Attributes) (pod, old *corev1.Pod) {
	pod, _ = a.Object.(*corev1.Pod)
	old, _ = a.Old.(*corev1.Pod)
	if pod == nil || old == nil || pod.Spec.NodeName == "" || pod.Generation == old.Generation {
		return nil, nil
	}
	return pod, old
}

// nodeFor reads the node of a pod. An error refuses the write of the pod.
func nodeFor(ctx context.Context, a *Attributes, read ReadNode, name string) (*corev1.Node, error) {
	node, err := read(ctx, name)
	switch {
	case meta.IsNotFound(err):
		return nil, a.Forbidden("node %q not found", name)
	case err != nil:
		return nil, a.Forbidden("failed to get node %q: %w", name, err)
	}
	return node, nil
}

// because adds a cause to err, which tells clients why a resize is refused.
func because(err *meta.StatusError, cause meta.CauseType) error {
	err.Status.Details.Causes = append(err.Status.Details.Causes, meta.StatusCause{Type: cause})
	return err
}

// lacking returns a text that names CPU, memory or both if a pod requests more than a node can
// give; "" if the node can give both.
func lacking(spec *corev1.PodSpec, allocatable corev1.ResourceList) string {
	requests := corev1.ContainerRequests(spec)
	var texts []string
	for _, r := range [...]struct {
		name  corev1.ResourceName
		count func(meta.Quantity) int64
	}{{corev1.ResourceCPU, meta.Quantity.MilliValue}, {corev1.ResourceMemory, meta.Quantity.Value}} {
		asked := requests[r.name]
		if spec.Resources != nil {
			if whole, ok := spec.Resources.Requests[r.name]; ok {
				asked = whole
			}
		}
		asked = asked.Add(spec.Overhead[r.name])
		if has := allocatable[r.name]; asked.Cmp(has) > 0 {
			texts = append(texts,
				fmt.Sprintf("%s, requested: %d, allocatable: %d", r.name, r.count(asked), r.count(has)))
		}
	}
	return strings.Join(texts, "; ")
}
