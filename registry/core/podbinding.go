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

// podResource is the resource pods. boundPods stands in messages about bindings that conflict.
var (
	podResource = meta.GroupResource{Resource: "pods"}
	boundPods   = meta.GroupResource{Resource: "pods/binding"}
)

// podBinding declares the subresource pods/binding, by which a scheduler assigns a pod to a node.
func podBinding(stores registry.Stores) registry.SubresourceOf[*corev1.Pod] {
	return registry.SubresourceOf[*corev1.Pod]{
		Name: "binding", Kind: corev1.GroupVersion.WithKind("Binding"), Check: checkBinding,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) { return bindPod(ctx, stores, a) },
	}
}

// bindings declares the older resource for the same purpose, in which the body names the pod. The
// server clears metadata.uid of the body of a new object, so the precondition on the UID works for
// pods/binding alone.
func bindings(stores registry.Stores) registry.Actions {
	return registry.Actions{
		GroupResource: meta.GroupResource{Resource: "bindings"},
		Kind:          "Binding", Singular: "binding",
		Namespaced: true, Check: checkBinding,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) { return bindPod(ctx, stores, a) },
	}
}

// checkBinding checks the name and the target. Its errors come without a reason (status Unknown),
// as in Kubernetes.
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

// bindPod assigns a pod to a node. A pod is bound once: of two schedulers the second gets a
// conflict. UID and resourceVersion of the binding are preconditions. The update goes past the
// strategy of pods, which does not let spec.nodeName change.
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

// notBindable says why a pod cannot be assigned to a node, "" if it can.
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

// assignToNode changes the pod as the binding says: the node, labels and annotations, and the
// condition PodScheduled.
func assignToNode(pod *corev1.Pod, b *corev1.Binding) {
	pod.Spec.NodeName, pod.Status.NominatedNodeName = b.Target.Name, ""
	pod.Annotations = mergeInto(pod.Annotations, b.Annotations)
	pod.Labels = mergeInto(pod.Labels, b.Labels)
	pod.Status.SetCondition(corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, time.Now())
}

// mergeInto adds the entries of more to m and returns it. If m is nil, it returns more itself.
func mergeInto(m, more map[string]string) map[string]string {
	if m == nil {
		return more
	}
	for k, v := range more {
		m[k] = v
	}
	return m
}
