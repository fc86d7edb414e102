package core

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file prints pods for kubectl get pods. pods declares podTable. The column Status is one word
// for the whole pod: summarize finds it as kube-apiserver does.

var podTable = &registry.TableOf[*corev1.Pod]{Columns: podColumns, Cells: podCells, Conditions: podConditions}

// podColumns have the descriptions of kube-apiserver, which clients see in each table.
var podColumns = []meta.TableColumnDefinition{
	registry.NameColumn,
	registry.Column("Ready", "The aggregate readiness state of this pod for accepting traffic.", 0),
	registry.Column("Status", "The aggregate status of the containers in this pod.", 0),
	registry.Column("Restarts",
		"The number of times the containers in this pod have been restarted and when the last container "+
			"in this pod has restarted.", 0),
	registry.AgeColumn,
	registry.Column("IP", "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet "+
		"allocated.", 1),
	registry.Column("Node",
		"NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for "+
			"scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for "+
			"this node becomes responsible for the lifecycle of this pod. This field should not be used to "+
			"express a desire for the pod to be scheduled on a specific node. "+
			"https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename", 1),
	registry.Column("Nominated Node",
		"nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be "+
			"scheduled right away as preemption victims receive their graceful termination periods. This "+
			"field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to "+
			"place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to "+
			"give the resources on this node to a higher priority pod that is created after preemption. As a "+
			"result, this field may be different than PodSpec.nodeName when the pod is scheduled.", 1),
	registry.Column("Readiness Gates",
		"If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all "+
			"its containers are ready AND all conditions specified in the readiness gates have status equal "+
			"to \"True\" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates", 1),
}

// podConditions mark the rows of pods that have ended, so that clients can hide them.
func podConditions(pod *corev1.Pod) []meta.TableRowCondition {
	switch phase := pod.Status.Phase; phase {
	case corev1.PodSucceeded:
		return []meta.TableRowCondition{{Type: "Completed", Status: "True", Reason: string(phase),
			Message: "The pod has completed successfully."}}
	case corev1.PodFailed:
		return []meta.TableRowCondition{{Type: "Completed", Status: "True", Reason: string(phase),
			Message: "The pod failed."}}
	}
	return nil
}

// podCells prints one pod. Restarts reads like "3 (5m ago)".
func podCells(pod *corev1.Pod, now time.Time) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts += " (" + registry.Since(s.lastRestart, now) + " ago)"
	}
	podIP, gates := "", registry.None
	if len(pod.Status.PodIPs) > 0 {
		podIP = pod.Status.PodIPs[0].IP
	}
	if n := len(pod.Spec.ReadinessGates); n > 0 {
		gates = fmt.Sprintf("%d/%d", trueGates(pod), n)
	}
	return []any{
		pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, restarts, registry.Age(&pod.ObjectMeta, now),
		cmp.Or(podIP, registry.None), cmp.Or(pod.Spec.NodeName, registry.None),
		cmp.Or(pod.Status.NominatedNodeName, registry.None), gates,
	}
}

// trueGates counts the readiness gates whose condition is True.
func trueGates(pod *corev1.Pod) int {
	n := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if hasCondition(pod, gate.ConditionType) {
			n++
		}
	}
	return n
}

// hasCondition reports whether the first condition of a type is True.
func hasCondition(pod *corev1.Pod, t corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// saysReady reports whether any condition Ready is True. A status may have several of a type.
func saysReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// summary is what a row says of the containers of a pod.
type summary struct {
	reason       string // the column Status
	ready, total int
	restarts     int // of all containers that count
	lastRestart  time.Time
}

// countRestarts adds the restarts of a container.
func (s *summary) countRestarts(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(s.lastRestart) {
		s.lastRestart = t.FinishedAt.Time
	}
}

// summarize counts containers and restarts, and finds the word that describes a pod best. A later
// word in this list overrides an earlier one:
//   - the phase, then the reason in the status, then SchedulingGated;
//   - the first init container that is not done: "Init:1/3", "Init:Error";
//   - if all init containers are done, or the condition Initialized is True, what countContainers
//     finds;
//   - while the pod is being deleted, "Terminating", or "Unknown" if its node is lost.
func summarize(pod *corev1.Pod) summary {
	s := summary{reason: string(pod.Status.Phase), total: len(pod.Spec.Containers)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == "SchedulingGated" {
			s.reason = c.Reason
		}
	}
	sidecars, initializing := s.countInitContainers(pod)
	if !initializing || hasCondition(pod, corev1.PodInitialized) {
		s.restarts, s.lastRestart = sidecars.restarts, sidecars.lastRestart
		s.countContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			s.reason = "Unknown"
		case pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded:
			s.reason = "Terminating"
		}
	}
	return s
}

// countInitContainers looks at init containers up to the first that is not done, which initializing
// reports. sidecars counts the restarts of sidecars alone: once the pod is initialized, those of
// other init containers do not matter.
func (s *summary) countInitContainers(pod *corev1.Pod) (sidecars summary, initializing bool) {
	isSidecar := make(map[string]bool)
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; corev1.IsSidecar(c) {
			isSidecar[c.Name] = true
			s.total++
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.countRestarts(c)
		if isSidecar[c.Name] {
			sidecars.countRestarts(c)
		}
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case isSidecar[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case ended != nil:
			s.reason = "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return sidecars, true
	}
	return sidecars, false
}

// endReason names the end of a container: its reason, else "Signal:9", else "ExitCode:1".
func endReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

// countContainers adds the restarts of all containers and the number of ready ones, and sets
// s.reason if a container waits for a reason or has ended. It goes from the last container to the
// first, so that the reason of the first of these remains. If the reason is then Completed, it
// becomes Running if another container runs and the pod is ready, else the reason of the first
// container that failed, else NotReady if another container runs.
func (s *summary) countContainers(pod *corev1.Pod) {
	running, failure := false, ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.countRestarts(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = endReason(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failure = s.reason
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != "Completed" {
		return
	}
	switch {
	case running && saysReady(pod):
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}
