package core

import (
	"fmt"
	"math"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
)

// This file checks updates of pods. checkPod calls checkPodUpdate, and podAnnotationsUpdate serves
// the subresources as well. Of a pod's spec little may change: images, the deadline, added
// tolerations and removed scheduling gates; while gates remain, node selector and affinity may
// become narrower (KEP-3838).
//
// How a change is checked: a copy of the new spec, rest, gets the old values of the fields that may
// change. If rest then differs from the old spec, another field was changed, and the error shows
// the difference.

// updatable names the fields of a spec that may change, in Kubernetes' words.
const updatable = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
	"(allow it to be set to 1 if it was previously negative)"

// checkPodUpdate checks a change of a pod. If the number of containers changes, or the deadline is
// out of range or longer than before, the remaining checks are left out, as in Kubernetes.
func checkPodUpdate(rules podspec.Rules, pod, old *corev1.Pod) field.ErrorList {
	errs := podAnnotationsUpdate(rules, pod, old)
	p := field.NewPath("spec")
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{
		{"containers", pod.Spec.Containers, old.Spec.Containers},
		{"initContainers", pod.Spec.InitContainers, old.Spec.InitContainers},
	} {
		bad, stop := imagesUpdate(p.Child(list.name), list.now, list.was)
		if errs = append(errs, bad...); stop {
			return errs
		}
	}
	bad, stop := deadlineUpdate(p.Child("activeDeadlineSeconds"), pod.Spec.ActiveDeadlineSeconds,
		old.Spec.ActiveDeadlineSeconds)
	if errs = append(errs, bad...); stop {
		return errs
	}
	errs = append(errs, tolerationsUpdate(rules, p.Child("tolerations"), pod.Spec.Tolerations, old.Spec.Tolerations)...)
	errs = append(errs, gatesUpdate(p.Child("schedulingGates"), pod.Spec.SchedulingGates, old.Spec.SchedulingGates)...)
	if scheme.Equal(&pod.Spec, &old.Spec) {
		return errs
	}
	rest := withoutUpdatable(&pod.Spec, &old.Spec)
	if len(old.Spec.SchedulingGates) > 0 {
		errs = append(errs, gatedUpdate(p, rest, &old.Spec)...)
	}
	if !scheme.Equal(rest, &old.Spec) {
		errs = append(errs, field.Forbidden(p, "pod updates may not change fields other than "+updatable+
			"\n"+govalue.Diff(old.Spec, *rest)))
	}
	return errs
}

// withoutUpdatable returns a copy of spec in which the fields that may change have the values of
// old. Both have the same number of containers.
func withoutUpdatable(spec, old *corev1.PodSpec) *corev1.PodSpec {
	rest := scheme.DeepCopy(*spec)
	for i := range rest.Containers {
		rest.Containers[i].Image = old.Containers[i].Image
	}
	for i := range rest.InitContainers {
		rest.InitContainers[i].Image = old.InitContainers[i].Image
	}
	if len(rest.InitContainers) == 0 {
		rest.InitContainers = nil // an empty list is stored as none
	}
	rest.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	rest.SchedulingGates = old.SchedulingGates
	rest.Tolerations = old.Tolerations
	// Old servers accepted negative grace periods. A negative period may only become 1, because
	// servers treat it as 1.
	now, was := rest.TerminationGracePeriodSeconds, old.TerminationGracePeriodSeconds
	if was != nil && *was < 0 && now != nil && *now == 1 {
		rest.TerminationGracePeriodSeconds = was
	}
	return &rest
}

// imagesUpdate checks the images of containers. stop says that their number differs, so that the
// caller cannot compare the lists.
func imagesUpdate(p *field.Path, now, was []corev1.Container) (errs field.ErrorList, stop bool) {
	if len(now) != len(was) {
		return field.ErrorList{field.Forbidden(p, "pod updates may not add or remove containers")}, true
	}
	for i, ctr := range field.Each(&errs, now) {
		errs = append(errs, check.Required(p.Index(i).Child("image"), ctr.Image)...)
		errs = append(errs, podspec.TrimmedImage(p.Index(i), ctr)...)
	}
	return errs, false
}

// deadlineUpdate checks activeDeadlineSeconds: it may be set, and shortened, but not extended or
// removed.
func deadlineUpdate(p *field.Path, now, was *int64) (errs field.ErrorList, stop bool) {
	switch {
	case now == nil && was == nil:
		return nil, false
	case now == nil:
		return field.ErrorList{field.Invalid(p, nil, "must not update from a positive integer to nil value")}, false
	case *now < 0 || *now > math.MaxInt32:
		return check.InRange(p, *now, 0, math.MaxInt32), true
	case was != nil && *was < *now:
		return field.ErrorList{field.Invalid(p, *now, "must be less than or equal to previous value")}, true
	}
	return nil, false
}

// tolerationsUpdate checks that the old tolerations are all still there, except for their
// tolerationSeconds. New ones may be added: the pod then tolerates more.
func tolerationsUpdate(rules podspec.Rules, p *field.Path, now, was []corev1.Toleration) field.ErrorList {
	kept := make(map[corev1.Toleration]bool, len(now))
	for _, t := range now {
		t.TolerationSeconds = nil
		kept[t] = true
	}
	for _, t := range was {
		if t.TolerationSeconds = nil; !kept[t] {
			return field.ErrorList{field.Forbidden(p,
				"existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return rules.Tolerations(p, now)
}

// gatesUpdate checks that no scheduling gate is added (KEP-3521). Of a new gate that occurs twice,
// the last index is reported, as in Kubernetes.
func gatesUpdate(p *field.Path, now, was []corev1.PodSchedulingGate) field.ErrorList {
	var errs field.ErrorList
	had, last := check.Duplicates{}, make(map[string]int, len(now))
	for _, gate := range was {
		had.Add(gate.Name)
	}
	for i, gate := range now {
		last[gate.Name] = i
	}
	for i, gate := range field.Each(&errs, now) {
		if !had[gate.Name] && last[gate.Name] == i {
			errs = append(errs, field.Forbidden(p.Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

// gatedUpdate checks the changes that only a gated pod may make: the scheduler has not looked at
// the pod, so the choice of nodes may become narrower, never wider. It gives rest the old values of
// the fields that it has checked.
func gatedUpdate(p *field.Path, rest, old *corev1.PodSpec) field.ErrorList {
	var errs field.ErrorList
	for key, value := range old.NodeSelector {
		if now, ok := rest.NodeSelector[key]; !ok || now != value {
			errs = append(errs, field.Invalid(p.Child("nodeSelector"), rest.NodeSelector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	rest.NodeSelector = old.NodeSelector

	now, was := podspec.NodeAffinity(rest), podspec.NodeAffinity(old)
	if scheme.Equal(now, was) {
		return errs
	}
	errs = append(errs, affinityUpdate(p.Child("affinity", "nodeAffinity"), now, was)...)
	if rest.Affinity != nil {
		affinity := *rest.Affinity
		affinity.NodeAffinity = was
		rest.Affinity = &affinity
	} else if was != nil {
		rest.Affinity = &corev1.Affinity{NodeAffinity: was}
	}
	if old.Affinity == nil && scheme.Equal(rest.Affinity, &corev1.Affinity{}) {
		rest.Affinity = nil
	}
	return errs
}

// affinityUpdate checks a change of node affinity. Required terms may be set if there were none;
// otherwise the terms stay, and each may gain requirements. Terms are alternatives, so another one
// would make the choice wider. Preferences may change freely.
func affinityUpdate(p *field.Path, now, was *corev1.NodeAffinity) field.ErrorList {
	if was == nil || was.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	p = p.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	before := was.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(before) == 0 {
		return nil
	}
	var after []corev1.NodeSelectorTerm
	if now != nil && now.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		after = now.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	if len(after) != len(before) {
		return field.ErrorList{field.Invalid(p, govalue.JSON(after),
			"no additions/deletions to non-empty NodeSelectorTerms list are allowed")}
	}
	var errs field.ErrorList
	for i := range field.Each(&errs, before) {
		if !narrower(&after[i], &before[i]) {
			errs = append(errs, field.Invalid(p.Index(i), govalue.JSON(after[i]),
				"only additions are allowed (no mutations or deletions)"))
		}
	}
	return errs
}

// narrower reports whether a term has its old requirements, in order, and maybe more behind them.
// An empty term matches no node; with requirements it could match some, so it must stay empty.
func narrower(now, was *corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions) == 0 && len(was.MatchFields) == 0 {
		return len(now.MatchExpressions) == 0 && len(now.MatchFields) == 0
	}
	return beginsWith(now.MatchExpressions, was.MatchExpressions) && beginsWith(now.MatchFields, was.MatchFields)
}

func beginsWith(now, was []corev1.NodeSelectorRequirement) bool {
	if len(now) < len(was) {
		return false
	}
	head := now[:len(was)]
	return scheme.Equal(&head, &was)
}

// podAnnotationsUpdate checks annotations and their change. The annotations of AppArmor profiles
// and of mirror pods can be neither added, changed nor removed.
func podAnnotationsUpdate(rules podspec.Rules, pod, old *corev1.Pod) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("metadata", "annotations")
	for key, was := range field.Entries(&errs, old.Annotations) {
		now, ok := pod.Annotations[key]
		if ok && now == was {
			continue
		}
		switch {
		case strings.HasPrefix(key, podspec.AppArmorAnnotationPrefix):
			errs = append(errs, field.Forbidden(p.Key(key), "may not remove or update AppArmor annotations"))
		case key == corev1.MirrorPodAnnotation:
			errs = append(errs, field.Forbidden(p.Key(key), "may not remove or update mirror pod annotation"))
		}
	}
	for key := range field.Entries(&errs, pod.Annotations) {
		if _, ok := old.Annotations[key]; ok {
			continue
		}
		switch {
		case strings.HasPrefix(key, podspec.AppArmorAnnotationPrefix):
			errs = append(errs, field.Forbidden(p.Key(key), "may not add AppArmor annotations"))
		case key == corev1.MirrorPodAnnotation:
			errs = append(errs, field.Forbidden(p.Key(key), "may not add mirror pod annotation"))
		}
	}
	return append(errs, rules.Annotations(p, pod.Annotations, &pod.Spec)...)
}
