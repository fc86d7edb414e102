package admission

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/schedulingv1"
)

// Priority is the plugin of that name. It sets the priority of a pod from its PriorityClass, and
// allows at most one class to be the global default.
type Priority struct {
	classes PriorityClasses
}

// PriorityClasses reads the PriorityClasses of the cluster. A registry.ListMemo implements it.
type PriorityClasses interface {
	// List returns all classes, which must not be changed. The error is a *meta.StatusError.
	List(ctx context.Context, fresh request.Freshness) ([]*schedulingv1.PriorityClass, error)
	// Hidden returns the error of reading a class that exists but that List leaves out because it
	// cannot be read; nil if there is no such class.
	Hidden(ctx context.Context, name string) error
}

// NewPriority returns the plugin.
func NewPriority(classes PriorityClasses) *Priority { return &Priority{classes} }

// Name is the plugin's name.
func (*Priority) Name() string { return "Priority" }

// Handles is true for creates and updates.
func (*Priority) Handles(op Operation) bool { return op == Create || op == Update }

// Mutate sets priority and preemption policy of a new pod, and keeps those of an existing one.
func (p *Priority) Mutate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	spec := &pod.Spec
	if old, ok := a.Old.(*corev1.Pod); ok && a.Operation == Update {
		if spec.Priority == nil {
			spec.Priority = old.Spec.Priority
		}
		if spec.PreemptionPolicy == nil {
			spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	class, err := p.classOf(ctx, a, spec.PriorityClassName)
	if err != nil {
		return err
	}
	priority := class.Value
	if have := spec.Priority; have != nil && *have != priority {
		return a.Forbidden("the integer value of priority (%d) must not be provided in pod spec; "+
			"priority admission controller computed %d from the given PriorityClass name", *have, priority)
	}
	spec.PriorityClassName, spec.Priority = class.Name, &priority
	if class.PreemptionPolicy == nil {
		return nil
	}
	policy := *class.PreemptionPolicy
	if have := spec.PreemptionPolicy; have != nil && *have != policy {
		return a.Forbidden("the string value of PreemptionPolicy (%s) must not be provided in pod spec; "+
			"priority admission controller computed %s from the given PriorityClass name", *have, policy)
	}
	spec.PreemptionPolicy = &policy
	return nil
}

// noClass stands for the class of pods that name none, if no class is the global default.
var noClass = func() *schedulingv1.PriorityClass {
	policy := corev1.PreemptLowerPriority
	return &schedulingv1.PriorityClass{PreemptionPolicy: &policy}
}()

// classOf returns the class of a name, or the global default for "". It reads from the cache:
// NamespaceLifecycle has just read the pod's namespace consistently, so the cache is at most as old
// as that read.
func (p *Priority) classOf(ctx context.Context, a *Attributes, name string) (*schedulingv1.PriorityClass, error) {
	classes, err := p.classes.List(ctx, request.Cached)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if class := defaultClass(classes); class != nil {
			return class, nil
		}
		return noClass, nil
	}
	for _, class := range classes {
		if class.Name == name {
			return class, nil
		}
	}
	if err := p.classes.Hidden(ctx, name); err != nil {
		return nil, err
	}
	return nil, a.Forbidden("no PriorityClass with name %s was found", name)
}

// defaultClass returns the class that is the global default, nil if there is none. Two concurrent
// creates can both make a default class; then the class with the lower value counts, as in
// Kubernetes.
func defaultClass(classes []*schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	var least *schedulingv1.PriorityClass
	for _, class := range classes {
		if class.GlobalDefault && (least == nil || class.Value < least.Value) {
			least = class
		}
	}
	return least
}

// Validate refuses a second class that is the global default.
func (p *Priority) Validate(ctx context.Context, a *Attributes) error {
	class, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || a.Subresource != "" || !class.GlobalDefault {
		return nil
	}
	classes, err := p.classes.List(ctx, request.Consistent)
	if err != nil {
		return err
	}
	if have := defaultClass(classes); have != nil && (a.Operation == Create || have.Name != class.Name) {
		return a.Forbidden("PriorityClass %s is already marked as default. Only one default can exist", have.Name)
	}
	return nil
}
