package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// podResource and boundPods are what messages about bindings speak of.
var (
	podResource = meta.GroupResource{Resource: "pods"}
	boundPods   = meta.GroupResource{Resource: "pods/binding"}
)

// podBinding makes the subresource through which schedulers assign a pod to a node.
func podBinding(stores registry.Stores) registry.SubresourceOf[*corev1.Pod] {
	return registry.SubresourceOf[*corev1.Pod]{
		Name: "binding", Kind: corev1.GroupVersion.WithKind("Binding"), Check: checkBinding,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) { return bindPod(ctx, stores, a) },
	}
}

// bindings makes the older way to the same: a resource of its own, where the body names the pod. It
// knows of no UID.
func bindings(stores registry.Stores) registry.Actions {
	return registry.Actions{
		GroupResource: meta.GroupResource{Resource: "bindings"},
		Kind:          "Binding", Singular: "binding",
		Namespaced: true, Check: checkBinding,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) { return bindPod(ctx, stores, a) },
	}
}

func checkBinding(a *registry.Action) error {
	b := a.Object.(*corev1.Binding)
	if a.Name != "" && a.Name != b.Name {
		return meta.NewBadRequest("name in URL does not match name in Binding object")
	}
	p := field.NewPath("target")
	var errs field.ErrorList
	if kind := b.Target.Kind; kind != "" && kind != "Node" {
		errs = append(errs, field.NotSupported(p.Child("kind"), kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	}
	if len(errs) > 0 {
		_, text := errs.Show()
		return meta.NewUnexplained(text)
	}
	return nil
}

// bind assigns a pod to a node, once.
func bindPod(ctx context.Context, stores registry.Stores, a *registry.Action) (meta.Typed, error) {
	pods, err := registry.ViewOf[*corev1.Pod](stores.Store(podResource))
	if err != nil {
		return nil, err
	}
	b := a.Object.(*corev1.Binding)
	var pre meta.Preconditions
	if b.UID != "" {
		pre.UID = &b.UID
	}
	if b.ResourceVersion != "" {
		pre.ResourceVersion = &b.ResourceVersion
	}
	_, err = pods.Update(ctx, a.Namespace, b.Name, a.DryRun, func(pod *corev1.Pod) error {
		if err := pods.MayUpdate(pod, &pre); err != nil {
			return err
		}
		if why := notBindable(pod); why != "" {
			return meta.NewConflict(boundPods, pod.Name, errors.New(why))
		}
		assignToNode(pod, b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &meta.Status{Status: meta.StatusSuccess}, nil
}

// notBindable says why a pod cannot be assigned to a node; "" if it can.
func notBindable(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Sprintf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Sprintf("pod %s has non-empty .spec.schedulingGates", pod.Name)
	}
	return ""
}

// assign is what a binding makes of a pod.
func assignToNode(pod *corev1.Pod, b *corev1.Binding) {
	pod.Spec.NodeName, pod.Status.NominatedNodeName = b.Target.Name, ""
	pod.Annotations = mergeInto(pod.Annotations, b.Annotations)
	pod.Labels = mergeInto(pod.Labels, b.Labels)
	pod.Status.SetCondition(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, time.Now())
}

// withAll adds the entries of more to m, which may be nil.
func mergeInto(m, more map[string]string) map[string]string {
	if m == nil {
		return more
	}
	for k, v := range more {
		m[k] = v
	}
	return m
}
