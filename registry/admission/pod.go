package admission

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// podOf returns the pod that a write creates or updates, nil if the write is about another resource
// or a subresource.
func podOf(a *Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}

// containerPosition is where a container stands: a list of the pod's spec, and the index in it.
type containerPosition struct {
	list  string
	index int
}

// containers yields all containers of a pod with their positions, in the order init, regular,
// ephemeral. The containers are those of the spec itself, so a caller may change them. An ephemeral
// container is yielded as a Container: EphemeralContainerCommon has the same fields.
func containers(spec *corev1.PodSpec) iter.Seq2[containerPosition, *corev1.Container] {
	return func(yield func(containerPosition, *corev1.Container) bool) {
		for i := range spec.InitContainers {
			if !yield(containerPosition{"initContainers", i}, &spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(containerPosition{"containers", i}, &spec.Containers[i]) {
				return
			}
		}
		for i := range spec.EphemeralContainers {
			common := (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(containerPosition{"ephemeralContainers", i}, common) {
				return
			}
		}
	}
}

// DefaultTolerationSeconds is the plugin of that name. It gives pods tolerations for the NoExecute
// taints not-ready and unreachable, so that a pod is evicted from a failed node only after a time
// (300 s by default). Pods that have such tolerations keep theirs.
type DefaultTolerationSeconds struct {
	NotReady, Unreachable *int64 // seconds; nil means the constant tolerationSeconds
}

// tolerationSeconds is the default time that pods stay, in seconds.
const tolerationSeconds = 300

// Name is the plugin's name.
func (DefaultTolerationSeconds) Name() string { return "DefaultTolerationSeconds" }

// Handles is true for creates and updates.
func (DefaultTolerationSeconds) Handles(op Operation) bool { return op == Create || op == Update }

// Mutate adds the tolerations that are missing.
func (p DefaultTolerationSeconds) Mutate(_ context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	for _, t := range [...]struct {
		key  string
		stay *int64
	}{{taintNotReady, p.NotReady}, {"node.kubernetes.io/unreachable", p.Unreachable}} {
		if tolerates(pod, t.key) {
			continue
		}
		seconds := int64(tolerationSeconds)
		if t.stay != nil {
			seconds = *t.stay
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: t.key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: &seconds,
		})
	}
	return nil
}

// tolerates reports whether a pod has a toleration for the NoExecute taint key, or for all taints.
func tolerates(pod *corev1.Pod, key string) bool {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
