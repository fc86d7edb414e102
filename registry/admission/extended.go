package admission

import (
	"context"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// ExtendedResourceToleration is the plugin of that name. It lets pods that request an extended
// resource, such as a GPU, onto the nodes that are tainted with the name of that resource in order
// to keep other pods off.
type ExtendedResourceToleration struct{}

// Name is the plugin's name.
func (ExtendedResourceToleration) Name() string { return "ExtendedResourceToleration" }

// Handles is true for creates and updates.
func (ExtendedResourceToleration) Handles(op Operation) bool { return op == Create || op == Update }

// Mutate adds the tolerations, sorted by resource.
func (ExtendedResourceToleration) Mutate(_ context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	var names map[corev1.ResourceName]bool
	for _, list := range [...][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for name := range list[i].Resources.Requests {
				if corev1.IsExtendedResource(name) {
					if names == nil {
						names = map[corev1.ResourceName]bool{}
					}
					names[name] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		tolerate(&pod.Spec, corev1.Toleration{
			Key: string(name), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	return nil
}

// tolerate replaces the tolerations that match t (key, operator, value and effect) by t, or adds t
// if none matches.
func tolerate(spec *corev1.PodSpec, t corev1.Toleration) {
	found := false
	for i := range spec.Tolerations {
		if have := &spec.Tolerations[i]; have.Key == t.Key && have.Operator == t.Operator &&
			have.Value == t.Value && have.Effect == t.Effect {
			*have, found = t, true
		}
	}
	if !found {
		spec.Tolerations = append(spec.Tolerations, t)
	}
}
