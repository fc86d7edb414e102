package core

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file prepares and checks writes to the status of pods, which come from kubelets and the
// scheduler. pods declares preparePodStatus and checkPodStatus. containerstatus.go and
// claimstatus.go check parts of it.

// preparePodStatus fills in what older kubelets leave out: QoS class and generations. It keeps
// owner references, because kubelets send stale ones.
func preparePodStatus(_ *registry.Request, pod, old *corev1.Pod) {
	pod.DeletionTimestamp = nil // the store takes it from old
	pod.OwnerReferences = scheme.DeepCopy(old.OwnerReferences)
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = old.Status.QOSClass
	}
	keepGenerations(&pod.Status, &old.Status)
	dropDisabledStatus(&pod.Status, &old.Status)
}

// dropDisabledStatus drops the fields of features that are not served, unless the old status uses
// them.
func dropDisabledStatus(now, was *corev1.PodStatus) {
	if len(was.NodeAllocatableResourceClaimStatuses) == 0 {
		now.NodeAllocatableResourceClaimStatuses = nil
	}
	if slices.ContainsFunc(mounts(was), func(m *corev1.VolumeMountStatus) bool { return m.VolumeStatus != nil }) {
		return
	}
	for _, m := range mounts(now) {
		m.VolumeStatus = nil
	}
}

// mounts returns the statuses of all volume mounts of all containers. The pointers point into s.
func mounts(s *corev1.PodStatus) []*corev1.VolumeMountStatus {
	var all []*corev1.VolumeMountStatus
	for _, list := range [][]corev1.ContainerStatus{
		s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses,
	} {
		for i := range list {
			for j := range list[i].VolumeMounts {
				all = append(all, &list[i].VolumeMounts[j])
			}
		}
	}
	return all
}

// keepGenerations copies observed generations (KEP-5067) from the old status where the new one has
// 0: in the status itself and in each condition. If a type has several conditions, the n-th new one
// takes the value of the n-th old one.
func keepGenerations(now, was *corev1.PodStatus) {
	if now.ObservedGeneration == 0 {
		now.ObservedGeneration = was.ObservedGeneration
	}
	before := make(map[corev1.PodConditionType][]int64, len(was.Conditions))
	for i := range was.Conditions {
		c := &was.Conditions[i]
		before[c.Type] = append(before[c.Type], c.ObservedGeneration)
	}
	for i := range now.Conditions {
		c := &now.Conditions[i]
		generations := before[c.Type]
		if len(generations) == 0 {
			continue
		}
		if before[c.Type] = generations[1:]; c.ObservedGeneration == 0 {
			c.ObservedGeneration = generations[0]
		}
	}
}

// podStatusWarnings tells of addresses that are not in canonical form.
func podStatusWarnings(pod, _ *corev1.Pod) []string {
	p, s := field.NewPath("status"), &pod.Status
	warnings := func(p *field.Path, ip string) []string { return check.IPWarnings(p.Child("ip"), ip) }
	return append(check.AddressWarnings(p.Child("podIPs"), podIPs(s), warnings),
		check.AddressWarnings(p.Child("hostIPs"), hostIPs(s), warnings)...)
}

// notNegative is Kubernetes' message about a generation below 0.
const notNegative = "must be a non-negative integer"

// checkPodStatus checks a change of a pod's status. The path "Type" of a condition is Kubernetes'
// own spelling.
func checkPodStatus(pod, old *corev1.Pod) field.ErrorList {
	errs := podAnnotationsUpdate(podspec.Rules{}.After(&old.Spec, old.Annotations), pod, old)
	p := field.NewPath("status")
	s, was := &pod.Status, &old.Status
	for i, c := range field.Each(&errs, s.Conditions) {
		if c.ObservedGeneration < 0 {
			errs = append(errs, field.Invalid(p.Child("conditions").Index(i).Child("observedGeneration"),
				c.ObservedGeneration, notNegative))
		}
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
		default:
			errs = append(errs, check.QualifiedName(p.Child("conditions").Index(i).Child("Type"), string(c.Type))...)
		}
	}
	if s.NominatedNodeName != was.NominatedNodeName && s.NominatedNodeName != "" {
		errs = append(errs, check.DNSSubdomain(p.Child("nominatedNodeName"), s.NominatedNodeName)...)
		if old.Spec.NodeName != "" {
			errs = append(errs, field.Forbidden(p.Child("nominatedNodeName"),
				"may not be set on pods that are already bound to a node"))
		}
	}
	if s.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(p.Child("observedGeneration"), s.ObservedGeneration, notNegative))
	}
	errs = append(errs, check.Immutable(p.Child("qosClass"), &s.QOSClass, &was.QOSClass)...)
	errs = append(errs, stateUpdate(p.Child("containerStatuses"), s.ContainerStatuses, was.ContainerStatuses,
		restartRules(&old.Spec, old.Spec.Containers))...)
	errs = append(errs, stateUpdate(p.Child("initContainerStatuses"), s.InitContainerStatuses,
		was.InitContainerStatuses, restartRules(&old.Spec, old.Spec.InitContainers))...)
	errs = append(errs, stateUpdate(p.Child("ephemeralContainerStatuses"), s.EphemeralContainerStatuses,
		was.EphemeralContainerStatuses, func(string, int32) bool { return false })...)
	errs = append(errs, claimStatuses(p.Child("resourceClaimStatuses"), s.ResourceClaimStatuses,
		pod.Spec.ResourceClaims)...)
	errs = append(errs, extendedClaim(p.Child("extendedResourceClaimStatus"), s.ExtendedResourceClaimStatus,
		&pod.Spec)...)
	errs = append(errs, statusIPs(p.Child("podIPs"), podIPs(s), podIPs(was), govalue.JSON(s.PodIPs))...)
	if len(s.HostIPs) > 0 && s.HostIPs[0].IP != s.HostIP {
		errs = append(errs, field.Invalid(p.Child("hostIPs").Index(0).Child("ip"), s.HostIPs[0].IP,
			"must be equal to `hostIP`"))
	}
	errs = append(errs, statusIPs(p.Child("hostIPs"), hostIPs(s), hostIPs(was), govalue.JSON(s.HostIPs))...)
	return append(errs, containerStatuses(p, pod)...)
}

// restartRules returns a function that reports whether the container of a name in list may run
// again after it ended with an exit code. If any rule of the pod restarts all containers
// (KEP-5532), every container may.
func restartRules(spec *corev1.PodSpec, list []corev1.Container) func(name string, exit int32) bool {
	if restartsAll(spec.InitContainers) || restartsAll(spec.Containers) {
		return func(string, int32) bool { return true }
	}
	byName := make(map[string]*corev1.Container, len(list))
	for i := range list {
		byName[list[i].Name] = &list[i]
	}
	return func(name string, exit int32) bool {
		ctr := byName[name]
		return ctr != nil && restarts(ctr, spec.RestartPolicy, exit)
	}
}

// restartsAll reports whether a rule of a container restarts all containers of the pod.
func restartsAll(list []corev1.Container) bool {
	for i := range list {
		for _, rule := range list[i].RestartPolicyRules {
			if rule.Action == corev1.ContainerRestartRuleActionRestartAllContainers {
				return true
			}
		}
	}
	return false
}

// restarts reports whether a container that ended with an exit code runs again: by its own rules
// (KEP-5307), else by its own policy, else by that of the pod. Rules count only if the container
// has a restartPolicy of its own.
func restarts(ctr *corev1.Container, policy corev1.RestartPolicy, exit int32) bool {
	if ctr.RestartPolicy != nil {
		for _, rule := range ctr.RestartPolicyRules {
			codes := rule.ExitCodes
			if codes != nil &&
				slices.Contains(codes.Values, exit) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
				return true
			}
		}
		policy = corev1.RestartPolicy(*ctr.RestartPolicy)
	}
	return policy != corev1.RestartPolicyNever && (policy != corev1.RestartPolicyOnFailure || exit != 0)
}

// stateUpdate refuses a status in which a container that has ended for good runs again. As in
// Kubernetes, the index in the error is that of the old status.
func stateUpdate(
	p *field.Path, now, was []corev1.ContainerStatus, restarts func(name string, exit int32) bool,
) field.ErrorList {
	var errs field.ErrorList
	running := check.Duplicates{}
	for i := range now {
		if now[i].State.Terminated == nil {
			running.Add(now[i].Name)
		}
	}
	for i, c := range field.Each(&errs, was) {
		if ended := c.State.Terminated; ended != nil && running[c.Name] && !restarts(c.Name, ended.ExitCode) {
			errs = append(errs, field.Forbidden(p.Index(i).Child("state"),
				"may not be transitioned to non-terminated state"))
		}
	}
	return errs
}

func podIPs(s *corev1.PodStatus) []string {
	ips := make([]string, len(s.PodIPs))
	for i := range ips {
		ips[i] = s.PodIPs[i].IP
	}
	return ips
}

func hostIPs(s *corev1.PodStatus) []string {
	ips := make([]string, len(s.HostIPs))
	for i := range ips {
		ips[i] = s.HostIPs[i].IP
	}
	return ips
}

// maxIPs bounds how many old addresses a new one is compared with; no pod or node has that many.
const maxIPs = 100

// statusIPs checks the addresses of a pod or its host: at most one for each IP family. An address
// that the old status has (were) may break the rules for single addresses, such as a leading zero.
// But beside another address it must be readable, because otherwise it has no family. shown is the
// list as errors show it.
func statusIPs(p *field.Path, ips, were []string, shown any) field.ErrorList {
	var errs field.ErrorList
	for i, text := range field.Each(&errs, ips) {
		if _, msgs := names.ParseIP(*text, true); !slices.Contains(were[:min(len(were), maxIPs)], *text) {
			errs = append(errs, check.Invalid(p.Index(i), *text, msgs)...)
		}
	}
	if len(ips) < 2 {
		return errs
	}
	families := 0
	for i, text := range ips {
		ip, _ := names.ParseIP(text, true)
		if !ip.IsValid() {
			errs = append(errs, field.InternalError(p,
				fmt.Errorf("failed to check for dual stack with error:invalid IP[%d]: %s", i, text)))
			families = 0
			break
		}
		if ip.Is4() {
			families |= 1
		} else {
			families |= 2
		}
	}
	if families != 3 || len(ips) > 2 {
		errs = append(errs, field.Invalid(p, shown, "may specify no more than one IP for each IP family"))
	}
	return errs
}
