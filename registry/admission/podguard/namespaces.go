package podguard

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podsecurity"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the rules for namespaces: their labels, and warnings about the pods in them.
// Plugin.Validate calls validateNamespace for each create and update of a namespace.

// Bounds of the work for a namespace that gets a stricter level.
const (
	maxPods    = 3000        // the most pods whose violations are reported
	maxPodTime = time.Second // or half of the time that the request has left, if that is less
)

// Pods returns the number of pods in a namespace and a sequence of the pods, which decodes one pod
// at a time. The pods must not be changed. After an error the sequence ends.
type Pods func(ctx context.Context, namespace string) (int, iter.Seq2[*corev1.Pod, error], error)

// validateNamespace refuses wrong labels, unless the old namespace had the same mistakes. It warns
// if a namespace that is exempt gets labels, and if pods violate a new level of the mode enforce.
func (p *Plugin) validateNamespace(ctx context.Context, a *admission.Attributes, namespace *corev1.Namespace) error {
	if a.Subresource != "" {
		return nil
	}
	policy, wrong := podsecurity.PolicyOf(meta.Set(namespace.Labels), p.defaults)
	if a.Operation == admission.Create {
		if len(wrong) > 0 {
			return meta.NewInvalid(a.Kind.GroupKind(), a.Name, wrong)
		}
		if p.exempt.namespace(a.Name) {
			p.warnOfLabels(a, namespace, &policy)
		}
		return nil
	}
	old, ok := a.Old.(*corev1.Namespace)
	if !ok {
		return nil
	}
	before, beforeWrong := podsecurity.PolicyOf(meta.Set(old.Labels), p.defaults)
	if len(wrong) > 0 && !slices.EqualFunc(wrong, beforeWrong, sameError) {
		return meta.NewInvalid(a.Kind.GroupKind(), a.Name, wrong)
	}
	switch {
	case !mayCatchPods(policy.Enforce, before.Enforce):
	case p.exempt.namespace(a.Name):
		p.warnOfLabels(a, namespace, &policy)
	default:
		for _, text := range p.evaluatePods(ctx, namespace.Name, policy.Enforce) {
			a.Warn(text)
		}
	}
	return nil
}

func sameError(a, b *field.Error) bool { return *a == *b }

// mayCatchPods reports whether a pod that meets the level before may violate the level now. With
// another version, that is always possible.
func mayCatchPods(now, before podsecurity.LevelVersion) bool {
	return now != before && now.Level != podsecurity.Privileged &&
		(now.Version != before.Version || now.Level.StricterThan(before.Level))
}

// warnOfLabels warns that the labels of an exempt namespace have no effect. It does not warn if the
// labels demand nothing, or if they demand what namespaces without labels demand.
func (p *Plugin) warnOfLabels(a *admission.Attributes, namespace *corev1.Namespace, policy *podsecurity.Policy) {
	if policy.Allows() || policy.Equivalent(&p.defaults) {
		return
	}
	var set []string
	for _, m := range [...]struct {
		name, level, version string
		demands              podsecurity.LevelVersion
	}{
		{"enforce", podsecurity.EnforceLabel, podsecurity.EnforceVersionLabel, policy.Enforce},
		{"audit", podsecurity.AuditLabel, podsecurity.AuditVersionLabel, policy.Audit},
		{"warn", podsecurity.WarnLabel, podsecurity.WarnVersionLabel, policy.Warn},
	} {
		_, hasLevel := namespace.Labels[m.level]
		_, hasVersion := namespace.Labels[m.version]
		if m.demands.Level != podsecurity.Privileged && (hasLevel || hasVersion) {
			set = append(set, m.name+"="+m.demands.String())
		}
	}
	a.Warn(fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored",
		namespace.Name, strings.Join(set, ", ")))
}

// evaluatePods returns warnings about the pods of a namespace that violate a level. If not all pods
// were evaluated, the first warning has the number of evaluated pods. Then comes one warning for
// each set of violations.
func (p *Plugin) evaluatePods(ctx context.Context, namespace string, by podsecurity.LevelVersion) []string {
	limit := maxPodTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := survey{plugin: p, by: by, controllers: map[string]bool{}, groups: map[string]*group{}}
	if err := s.take(ctx, namespace); err != nil {
		return []string{"failed to list pods while checking new PodSecurity enforce level"}
	}
	var warnings []string
	if evaluated, total := s.count(), s.total-s.exempt; evaluated < total {
		warnings = append(warnings, fmt.Sprintf(
			"new PodSecurity enforce level only checked against the first %d of %d existing pods", evaluated, total))
	}
	if groups := s.warnings(); len(groups) > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, by.String()))
		warnings = append(warnings, groups...)
	}
	return warnings
}

// survey evaluates the pods of a namespace in one pass. The first pod of each controller and the
// pods without a controller take precedence over all other pods, because the pods of one controller
// are alike.
type survey struct {
	plugin *Plugin
	by     podsecurity.LevelVersion

	total, exempt int
	firsts        int               // evaluated pods that take precedence
	others        []evaluatedPod    // evaluated pods without precedence; at most maxPods
	controllers   map[string]bool   // by UID
	groups        map[string]*group // by violations
}

// evaluatedPod is a pod that has been evaluated. group is nil if the pod has no violations.
type evaluatedPod struct {
	name  string
	group *group
}

// group stands for the pods with the same violations.
type group struct {
	first string // the first of their names in alphabetical order
	pods  int
}

func (g *group) add(name string) {
	if g.pods == 0 || name < g.first {
		g.first = name
	}
	g.pods++
}

// take evaluates pods until maxPods of them have precedence, or until ctx ends. It fails if pods
// cannot be listed.
func (s *survey) take(ctx context.Context, namespace string) error {
	total, pods, err := s.plugin.pods(ctx, namespace)
	if err != nil {
		return err
	}
	s.total = total
	for pod, err := range pods {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		if s.firsts < maxPods {
			s.evaluate(pod)
		} else if s.plugin.exempt.runtimeClass(pod.Spec.RuntimeClassName) {
			s.exempt++
		}
		if s.firsts == maxPods && len(s.plugin.exempt.RuntimeClasses) == 0 {
			break // the other pods change neither the warnings nor the numbers in them
		}
	}
	for _, pod := range s.others[:min(len(s.others), maxPods-s.firsts)] {
		if pod.group != nil {
			pod.group.add(pod.name)
		}
	}
	return nil
}

func (s *survey) evaluate(pod *corev1.Pod) {
	if s.plugin.exempt.runtimeClass(pod.Spec.RuntimeClassName) {
		s.exempt++
		return
	}
	first := true
	if uid := controllerOf(pod); uid != nil {
		first = !s.controllers[*uid]
		s.controllers[*uid] = true
	}
	if !first && len(s.others) == maxPods {
		return
	}
	var g *group
	if violations := podsecurity.Evaluate(s.by, &pod.ObjectMeta, &pod.Spec); len(violations) > 0 {
		reasons := violations.Reasons()
		if g = s.groups[reasons]; g == nil {
			g = &group{}
			s.groups[reasons] = g
		}
	}
	if !first {
		s.others = append(s.others, evaluatedPod{pod.Name, g})
		return
	}
	s.firsts++
	if g != nil {
		g.add(pod.Name)
	}
}

// controllerOf returns the UID of the controller of a pod, nil if it has none.
func controllerOf(pod *corev1.Pod) *string {
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			return (*string)(&o.UID)
		}
	}
	return nil
}

// count returns the number of pods whose violations are reported.
func (s *survey) count() int { return min(s.firsts+len(s.others), maxPods) }

// warnings returns a warning for each group, sorted.
func (s *survey) warnings() (list []string) {
	for reasons, g := range s.groups {
		switch {
		case g.pods == 1:
			list = append(list, g.first+": "+reasons)
		case g.pods == 2:
			list = append(list, g.first+" (and 1 other pod): "+reasons)
		case g.pods > 2:
			list = append(list, fmt.Sprintf("%s (and %d other pods): %s", g.first, g.pods-1, reasons))
		}
	}
	slices.Sort(list)
	return list
}
