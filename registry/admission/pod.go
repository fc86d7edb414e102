package admission

import (
	"context"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// podOf returns the pod that a write creates or updates, nil if it is about something else or a
// subresource.
func podOf(a *Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}

// DefaultTolerationSeconds lets pods that say nothing about it stay for a time on a node that is
// not ready or cannot be reached.
type DefaultTolerationSeconds struct {
	NotReady, Unreachable *int64 // seconds; nil means tolerationSeconds
}

// tolerationSeconds is how long pods stay by default.
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
			Key: t.key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
	return nil
}

// tolerates reports whether a pod says how it bears a NoExecute taint.
func tolerates(pod *corev1.Pod, key string) bool {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
