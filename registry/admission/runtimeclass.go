package admission

import (
	"context"
	"maps"
	"slices"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/nodev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// RuntimeClass is the plugin of that name. A new pod that names a RuntimeClass gets the overhead,
// the node selector and the tolerations of the class. A pod may state only the overhead of its
// class.
type RuntimeClass struct {
	classes RuntimeClasses
}

// RuntimeClasses reads the RuntimeClasses of the cluster. A registry.ListMemo implements it.
type RuntimeClasses interface {
	// List returns all classes that can be read. They must not be changed. The error is a
	// *meta.StatusError.
	List(ctx context.Context, fresh request.Freshness) ([]*nodev1.RuntimeClass, error)
	// Hidden returns the error of reading a class that exists but that List leaves out because it
	// cannot be read; nil if there is no such class.
	Hidden(ctx context.Context, name string) error
}

// NewRuntimeClass returns the plugin.
func NewRuntimeClass(classes RuntimeClasses) RuntimeClass { return RuntimeClass{classes} }

// Name is the plugin's name.
func (RuntimeClass) Name() string { return "RuntimeClass" }

// Handles is true for creates.
func (RuntimeClass) Handles(op Operation) bool { return op == Create }

// Mutate sets overhead, node selector and tolerations of a pod by its class.
func (p RuntimeClass) Mutate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if class == nil || err != nil {
		return err
	}
	if class.Overhead != nil {
		if fixed := class.Overhead.PodFixed; len(pod.Spec.Overhead) == 0 || sameOverhead(fixed, pod) {
			pod.Spec.Overhead = maps.Clone(fixed)
		} else {
			return a.Forbidden(otherOverhead)
		}
	}
	if class.Scheduling == nil {
		return nil
	}
	if err := addNodeSelector(a, pod, class.Scheduling.NodeSelector); err != nil {
		return err
	}
	pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, class.Scheduling.Tolerations)
	return nil
}

// Validate checks that the overhead of a pod equals the overhead of its class. Plugins that run
// after this one may have changed the pod.
func (p RuntimeClass) Validate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	class, err := p.classOf(ctx, a, pod)
	if err != nil {
		return err
	}
	if class == nil || class.Overhead == nil {
		if pod.Spec.Overhead != nil {
			return a.Forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
		}
		return nil
	}
	if !sameOverhead(class.Overhead.PodFixed, pod) {
		return a.Forbidden(otherOverhead)
	}
	return nil
}

// otherOverhead is the refusal of a pod whose overhead differs from the overhead of its class.
const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

// sameOverhead reports whether the overhead of a pod has the same values as fixed.
func sameOverhead(fixed corev1.ResourceList, pod *corev1.Pod) bool {
	return maps.EqualFunc(fixed, pod.Spec.Overhead, meta.Quantity.Equal)
}

// classOf returns the class that a pod names, nil if it names none. If the cache does not have the
// class, classOf looks again, consistently: another server may have created it just now.
func (p RuntimeClass) classOf(ctx context.Context, a *Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	name := *pod.Spec.RuntimeClassName
	for _, fresh := range [...]request.Freshness{request.Cached, request.Consistent} {
		classes, err := p.classes.List(ctx, fresh)
		if err != nil {
			return nil, err
		}
		for _, class := range classes {
			if class.Name == name {
				return class, nil
			}
		}
	}
	if err := p.classes.Hidden(ctx, name); err != nil {
		return nil, err
	}
	return nil, a.Forbidden("pod rejected: RuntimeClass %q not found", name)
}

// addNodeSelector adds the selector of a class to that of a pod. It refuses a pod that wants
// another value of one of the labels; if there are several such labels, the error names the first.
func addNodeSelector(a *Attributes, pod *corev1.Pod, selector map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		if have, ok := pod.Spec.NodeSelector[key]; ok && have != selector[key] {
			return a.Forbidden("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s",
				key, selector[key], key, have)
		}
	}
	if pod.Spec.NodeSelector == nil {
		pod.Spec.NodeSelector = maps.Clone(selector)
		return nil
	}
	maps.Copy(pod.Spec.NodeSelector, selector)
	return nil
}
