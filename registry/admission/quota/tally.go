package quota

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file adds up the requests or the limits of the containers of a pod, for podEvaluator.usage.
// Unlike corev1.ContainerRequests, it counts the amounts that a node has allocated to a container,
// which may be larger than those of the spec during a resize.

// tally adds up the requests of a pod, or its limits.
type tally struct {
	pod        *corev1.Pod
	infeasible bool    // the node can never do the resize that the spec asks for
	limits     bool    // the sums are those of limits, not of requests
	total      Amounts // of containers and sidecars together
	sidecars   Amounts // of the sidecars so far
	peak       Amounts // the largest amounts at any moment in which an init container runs
	scratch    Amounts // of one container
}

func newTally(pod *corev1.Pod) *tally {
	return &tally{pod: pod, infeasible: isInfeasible(pod), total: make(Amounts, 0, 4), scratch: make(Amounts, 0, 4)}
}

// sumRequests returns what the pod requests at the busiest moment of its life. The result is valid
// until the next sum.
func (t *tally) sumRequests() Amounts {
	t.limits = false
	t.run()
	for name, q := range t.pod.Spec.Overhead {
		t.total.add(name, q)
	}
	return t.total
}

// sumLimits returns the limits of the pod. The overhead is part of limits that are not zero. The
// result is valid until the next sum.
func (t *tally) sumLimits() Amounts {
	t.limits = true
	t.run()
	for name, q := range t.pod.Spec.Overhead {
		if have, ok := t.total.Get(name); ok && !have.IsZero() {
			t.total.set(name, have.Add(q))
		}
	}
	return t.total
}

// run sets total, without the overhead. While an init container runs, only the sidecars before it
// run, too. So the pod needs the largest amount of these moments, and not their sum.
func (t *tally) run() {
	t.total, t.sidecars, t.peak = t.total[:0], t.sidecars[:0], t.peak[:0]
	for i := range t.pod.Spec.Containers {
		t.container(&t.pod.Spec.Containers[i], true)
		for _, x := range t.scratch {
			t.total.add(x.Name, x.Quantity)
		}
	}
	for i := range t.pod.Spec.InitContainers {
		t.initContainer(&t.pod.Spec.InitContainers[i])
	}
	for _, x := range t.peak {
		t.total.raise(x.Name, x.Quantity)
	}
	if r := t.pod.Spec.Resources; r != nil {
		t.replace(t.side(r))
	}
}

// initContainer adds an init container to the sums. A sidecar counts in all of them, any other init
// container only in peak.
func (t *tally) initContainer(c *corev1.Container) {
	sidecar := corev1.IsSidecar(c)
	t.container(c, sidecar)
	if sidecar {
		for _, x := range t.scratch {
			t.total.add(x.Name, x.Quantity)
			t.sidecars.add(x.Name, x.Quantity)
		}
		t.scratch = append(t.scratch[:0], t.sidecars...)
	} else {
		for _, x := range t.sidecars {
			t.scratch.add(x.Name, x.Quantity)
		}
	}
	for _, x := range t.scratch {
		t.peak.raise(x.Name, x.Quantity)
	}
}

// replace replaces amounts by those of the pod as a whole.
func (t *tally) replace(list corev1.ResourceList) {
	for name, q := range list {
		if corev1.IsPodLevelResource(name) {
			t.total.set(name, q)
		}
	}
}

// container sets scratch to the amounts of a container. If the container can be resized, the
// amounts in its status count as well: the largest of the wanted, the allocated and the current
// amount counts. The wanted amount does not count if the node cannot give it.
func (t *tally) container(c *corev1.Container, resizable bool) {
	t.scratch = t.scratch[:0]
	var status *corev1.ContainerStatus
	if resizable {
		status = statusOf(&t.pod.Status, c.Name)
	}
	if status == nil || status.Resources == nil {
		for name, q := range t.side(&c.Resources) {
			t.scratch = append(t.scratch, Amount{name, q})
		}
		return
	}
	if !t.infeasible {
		t.raise(t.side(&c.Resources))
	}
	t.raise(t.side(status.Resources))
	if !t.limits {
		t.raise(status.AllocatedResources)
	}
}

// raise raises scratch to the amounts of a list.
func (t *tally) raise(list corev1.ResourceList) {
	for name, q := range list {
		t.scratch.raise(name, q)
	}
}

// side returns the limits or the requests.
func (t *tally) side(r *corev1.ResourceRequirements) corev1.ResourceList {
	if t.limits {
		return r.Limits
	}
	return r.Requests
}

// statusOf returns the status of the container with a name, nil if there is none. If several
// statuses have the name, the last one counts, and the statuses of init containers come after the
// others.
func statusOf(s *corev1.PodStatus, name string) *corev1.ContainerStatus {
	for _, list := range [...][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// isInfeasible reports whether the node of a pod has found that it can never do the resize that the
// spec asks for.
func isInfeasible(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending {
			return c.Reason == "Infeasible"
		}
	}
	return false
}
