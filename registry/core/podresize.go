package core

import (
	"maps"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file is the subresource pods/resize: it changes CPU and memory of a pod in place (KEP-1287),
// of its containers and of the pod as a whole (KEP-5419). pods declares it.
//
// How a change is checked: a copy of the new spec, rest, gets the old values of the fields that may
// change. If rest then differs from the old spec, another field was changed.

// podResize declares the subresource pods/resize.
func podResize(rules podspec.Rules) registry.SubresourceOf[*corev1.Pod] {
	return registry.SubresourceOf[*corev1.Pod]{
		Name:     "resize",
		Metadata: registry.MetaWhole,
		Prepare: func(_ *registry.Request, pod, old *corev1.Pod) {
			prepareResize(pod, old)
			podspec.DropDisabled(&pod.Spec, &old.Spec)
		},
		Validate: func(pod, old *corev1.Pod) field.ErrorList {
			return checkResize(rules.After(&old.Spec, old.Annotations), pod, old)
		},
	}
}

// prepareResize takes resources and resize policies from the new pod and everything else from old.
// If the number or the names of the containers have changed, it leaves the new containers as they
// are, and checkResize refuses them.
func prepareResize(pod, old *corev1.Pod) {
	now := pod.Spec
	if len(now.Containers) != len(old.Spec.Containers) || len(now.InitContainers) != len(old.Spec.InitContainers) {
		return
	}
	restorePod(pod, old)
	pod.Spec.Resources = now.Resources
	pod.Spec.Containers = withNewResources(now.Containers, pod.Spec.Containers)
	pod.Spec.InitContainers = withNewResources(now.InitContainers, pod.Spec.InitContainers)
}

// withNewResources returns the containers was with the resources and resize policies of now. If a
// name differs, it returns now, which checkResize refuses. It changes was.
func withNewResources(now, was []corev1.Container) []corev1.Container {
	for i := range now {
		if now[i].Name != was[i].Name {
			return now
		}
		was[i].Resources, was[i].ResizePolicy = now[i].Resources, now[i].ResizePolicy
	}
	return was
}

const onlyCompute = "only cpu and memory resources are mutable"

// checkResize checks a change of resources. Static and Windows pods cannot be resized, the QoS
// class cannot change, and no amount can be removed.
func checkResize(rules podspec.Rules, pod, old *corev1.Pod) field.ErrorList {
	switch {
	case isMirror(old):
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods cannot be resized")}
	case old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows:
		return field.ErrorList{field.Forbidden(field.NewPath(""), "windows pods cannot be resized")}
	}
	errs := rules.Pod(pod)
	p := field.NewPath("spec")
	if storedClass(old) != qosClass(&pod.Spec) {
		errs = append(errs, field.Invalid(p, pod.Status.QOSClass,
			"Pod QOS Class may not change as a result of resizing"))
	}
	if !nodeResizes(&old.Status) {
		errs = append(errs, field.Forbidden(p, "Pod running on node without support for resize"))
	}
	rest := scheme.DeepCopy(pod.Spec)
	if hasAmounts(old.Spec.Resources) || hasAmounts(pod.Spec.Resources) {
		errs = append(errs, podResourcesUpdate(p, &rest, &pod.Spec, &old.Spec)...)
	}
	if len(old.Status.NodeAllocatableResourceClaimStatuses) > 0 {
		errs = append(errs, field.Forbidden(p, "pods with node allocatable resource claims cannot be resized"))
	}
	if others := sameContainers(p, &pod.Spec, &old.Spec); len(others) > 0 {
		return append(errs, others...)
	}
	errs = append(errs, checkAmountsKept(p.Child("initContainers"), pod.Spec.InitContainers,
		old.Spec.InitContainers)...)
	errs = append(errs, checkAmountsKept(p.Child("containers"), pod.Spec.Containers, old.Spec.Containers)...)
	for i, ctr := range field.Each(&errs, rest.Containers) {
		was := &old.Spec.Containers[i]
		if keepCompute(ctr, was); !scheme.Equal(ctr, was) {
			errs = append(errs, field.Forbidden(p, onlyCompute))
		}
	}
	errs = append(errs, initResize(p.Child("initContainers"), rest.InitContainers, old.Spec.InitContainers)...)
	if len(errs) == 0 && !scheme.Equal(&rest, &old.Spec) {
		errs = append(errs, field.Forbidden(p, onlyCompute))
	}
	return errs
}

// storedClass returns the QoS class in the status, or derives it for a pod without one.
func storedClass(pod *corev1.Pod) corev1.PodQOSClass {
	if class := pod.Status.QOSClass; class != "" {
		return class
	}
	return qosClass(&pod.Spec)
}

// nodeResizes reports whether the node of a pod can resize it: if the kubelet supports resizing,
// the status of each running container has its resources. nodeResizes looks at the first running
// container. If no container runs, it returns true.
func nodeResizes(s *corev1.PodStatus) bool {
	for i := range s.ContainerStatuses {
		if c := &s.ContainerStatuses[i]; c.State.Running != nil {
			return c.Resources != nil
		}
	}
	return true
}

func hasAmounts(r *corev1.ResourceRequirements) bool {
	return r != nil && len(r.Requests)+len(r.Limits) > 0
}

// podResourcesUpdate checks a change of the pod's own resources, and gives rest the old CPU and
// memory.
func podResourcesUpdate(p *field.Path, rest, spec, old *corev1.PodSpec) field.ErrorList {
	at := p.Child("resources")
	if old.Resources != nil && spec.Resources == nil {
		return field.ErrorList{field.Forbidden(at, "pod-level resources cannot be removed")}
	}
	var errs field.ErrorList
	var was corev1.ResourceRequirements
	if old.Resources != nil {
		was = *old.Resources
		if lacksAmount(spec.Resources.Requests, was.Requests) {
			errs = append(errs, field.Forbidden(at.Child("requests"), "pod-level resource requests cannot be removed"))
		}
		if lacksAmount(spec.Resources.Limits, was.Limits) {
			errs = append(errs, field.Forbidden(at.Child("limits"), "pod-level resource limits cannot be removed"))
		}
	}
	r := rest.Resources
	r.Requests, r.Limits = withCompute(r.Requests, was.Requests), withCompute(r.Limits, was.Limits)
	if old.Resources == nil && !hasAmounts(r) && len(r.Claims) == 0 {
		rest.Resources = nil
	}
	if !scheme.Equal(&rest.Resources, &old.Resources) {
		errs = append(errs, field.Forbidden(p, "only cpu and memory resources are mutable at pod-level"))
	}
	return errs
}

// sameContainers checks that the containers are those of old, in the same order.
func sameContainers(p *field.Path, spec, old *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"containers", spec.Containers, old.Containers},
		{"initContainers", spec.InitContainers, old.InitContainers},
	} {
		p := p.Child(list.name)
		if len(list.now) != len(list.was) {
			errs = append(errs, field.Forbidden(p, list.name+" may not be added or removed on resize"))
			continue
		}
		for i, was := range field.Each(&errs, list.was) {
			if list.now[i].Name != was.Name {
				errs = append(errs, field.Forbidden(p.Index(i).Child("name"),
					list.name+" may not be renamed or reordered on resize"))
			}
		}
	}
	return errs
}

// checkAmountsKept checks that no request or limit that a container had is left out.
func checkAmountsKept(p *field.Path, now, was []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for i, old := range field.Each(&errs, was) {
		p := p.Index(i).Child("resources")
		if lacksAmount(now[i].Resources.Requests, old.Resources.Requests) {
			errs = append(errs, field.Forbidden(p.Child("requests"), "resource requests cannot be removed"))
		}
		if lacksAmount(now[i].Resources.Limits, old.Resources.Limits) {
			errs = append(errs, field.Forbidden(p.Child("limits"), "resource limits cannot be removed"))
		}
	}
	return errs
}

// lacksAmount reports whether now lacks an entry of old.
func lacksAmount(now, old corev1.ResourceList) bool {
	for name := range old {
		if _, ok := now[name]; !ok {
			return true
		}
	}
	return false
}

// initResize checks the resize of init containers. Sidecars can be resized like containers. Another
// init container runs only once, so it cannot be resized if its resize policy requires a restart.
// initResize also gives list the old CPU and memory.
func initResize(p *field.Path, list, was []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for i, ctr := range field.Each(&errs, list) {
		old, p := &was[i], p.Index(i)
		changed := !scheme.Equal(ctr, old)
		if keepCompute(ctr, old); !scheme.Equal(ctr, old) {
			errs = append(errs, field.Forbidden(p,
				"only cpu and memory resources for init or sidecar containers are mutable"))
		}
		if !changed || corev1.IsSidecar(ctr) {
			continue
		}
		for _, policy := range field.Each(&errs, ctr.ResizePolicy) {
			if policy.RestartPolicy == corev1.RestartContainer {
				errs = append(errs, field.Forbidden(p,
					"non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	return errs
}

// keepCompute gives a container the CPU and memory that old has. It drops the claims, as Kubernetes
// does, so a container with claims never equals its old one and cannot be resized.
func keepCompute(ctr, old *corev1.Container) {
	ctr.Resources = corev1.ResourceRequirements{
		Limits:   withCompute(ctr.Resources.Limits, old.Resources.Limits),
		Requests: withCompute(ctr.Resources.Requests, old.Resources.Requests),
	}
}

// withCompute returns a copy of list in which the amounts of CPU and memory are replaced by those
// in of.
func withCompute(list, of corev1.ResourceList) corev1.ResourceList {
	if list == nil && of == nil {
		return nil
	}
	out := corev1.ResourceList{}
	maps.Copy(out, list)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		delete(out, name)
		if q, ok := of[name]; ok {
			out[name] = q
		}
	}
	return out
}
