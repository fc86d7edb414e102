// Package podguard is the admission plugin PodSecurity. It holds pods to the policy that the labels
// of their namespace set.
//
// Words. Levels, versions, modes and policies are those of package podsecurity, which evaluates the
// pods. A workload is an object with a template for pods, such as a Deployment. To evaluate a pod
// or a template is to check it by the policy of its namespace. A request is exempt if the
// configuration exempts its namespace, its user or the runtime class of its pod.
//
// Laws:
//   - A pod is evaluated in all three modes when it is created, and when an update changes an image
//     or adds a container. No other update can make a pod worse.
//   - A template is evaluated for warnings and the audit record only. No error about it refuses the
//     workload, because its pods are evaluated when they are created.
//   - A namespace must not get labels that are wrong. If it has wrong labels all the same, its pods
//     must meet the latest restricted level.
//   - When a namespace gets a stricter level, its pods stay. The client is warned about the pods
//     that violate the level.
//   - The plugin changes nothing. Its messages, audit annotations and metrics are those of
//     kube-apiserver.
//
// The plugin is immutable, so requests call it concurrently.
//
// Not here: the checks of the levels (package podsecurity), where namespaces and pods are read and
// metrics are registered (server/plugins).
//
// Read: plugin.go, namespaces.go, configuration.go, counts.go.
package podguard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podsecurity"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/batchv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin, and the rules for pods and workloads. server/plugins makes the plugin.

// The keys of audit annotations.
const (
	enforcePolicy   = podsecurity.Prefix + "enforce-policy" // the level that a pod had to meet
	auditViolations = podsecurity.Prefix + "audit-violations"
	exemption       = podsecurity.Prefix + "exempt" // the reason: namespace, user or runtimeClass
	failure         = podsecurity.Prefix + "error"
)

// Plugin is the PodSecurity plugin.
type Plugin struct {
	defaults   podsecurity.Policy // of namespaces without labels
	exempt     exemptions
	namespaces *admission.Namespaces
	pods       Pods
	counts     Counts
}

// New returns the plugin. configuration is a PodSecurityConfiguration as YAML or JSON, nil for the
// defaults.
func New(configuration []byte, n *admission.Namespaces, pods Pods, counts Counts) (*Plugin, error) {
	c, err := readConfiguration(configuration)
	if err != nil {
		return nil, err
	}
	return &Plugin{defaults: c.policy, exempt: c.Exemptions, namespaces: n, pods: pods, counts: counts}, nil
}

// Name is the plugin's name.
func (*Plugin) Name() string { return "PodSecurity" }

// Handles is true for creates and updates.
func (*Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate refuses pods and labels of namespaces, and warns about workloads and namespaces.
func (p *Plugin) Validate(ctx context.Context, a *admission.Attributes) error {
	switch obj := a.Object.(type) {
	case *corev1.Pod:
		return p.validatePod(ctx, a, obj)
	case *corev1.Namespace:
		return p.validateNamespace(ctx, a, obj)
	}
	if template, is := templateOf(a.Object); is && a.Subresource == "" {
		p.warnOfTemplate(ctx, a, template)
	}
	return nil
}

// templateOf returns the template of a workload, which is nil if the workload has none. is is false
// if the object is no workload.
func templateOf(obj meta.Typed) (template *corev1.PodTemplateSpec, is bool) {
	switch obj := obj.(type) {
	case *corev1.PodTemplate:
		return &obj.Template, true
	case *corev1.ReplicationController:
		return obj.Spec.Template, true
	case *appsv1.ReplicaSet:
		return &obj.Spec.Template, true
	case *appsv1.Deployment:
		return &obj.Spec.Template, true
	case *appsv1.DaemonSet:
		return &obj.Spec.Template, true
	case *appsv1.StatefulSet:
		return &obj.Spec.Template, true
	case *batchv1.Job:
		return &obj.Spec.Template, true
	case *batchv1.CronJob:
		return &obj.Spec.JobTemplate.Spec.Template, true
	}
	return nil, false
}

// validatePod evaluates a pod. The subresource status cannot change the spec. All other
// subresources whose object is a pod can.
func (p *Plugin) validatePod(ctx context.Context, a *admission.Attributes, pod *corev1.Pod) error {
	if a.Subresource == "status" || p.exempts(a) {
		return nil
	}
	policy, wrong, err := p.policyOf(ctx, a)
	if err != nil {
		p.counts.Failed(true, requestOf(a))
		refused := meta.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
		a.Annotate(failure, fmt.Sprintf("%v: %v", refused, err))
		return refused
	}
	if len(wrong) == 0 && policy.Allows() {
		p.evaluated(a, policy.Enforce, enforce, true)
		a.Annotate(enforcePolicy, "privileged:latest") // whatever the version
		return nil
	}
	if old, ok := a.Old.(*corev1.Pod); ok && a.Operation == admission.Update && !evaluatedAgain(pod, old) {
		return nil
	}
	return p.evaluate(a, &evaluation{policy: policy, wrong: wrong, enforces: true}, &pod.ObjectMeta, &pod.Spec)
}

// warnOfTemplate evaluates the template of a workload. template is nil if the workload has none.
func (p *Plugin) warnOfTemplate(ctx context.Context, a *admission.Attributes, template *corev1.PodTemplateSpec) {
	if p.exempts(a) {
		return
	}
	policy, wrong, err := p.policyOf(ctx, a)
	if err != nil {
		p.counts.Failed(true, requestOf(a))
		a.Annotate(failure, fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		return
	}
	privileged := policy.Warn.Level == podsecurity.Privileged && policy.Audit.Level == podsecurity.Privileged
	if len(wrong) == 0 && privileged || template == nil {
		return
	}
	e := evaluation{policy: policy, wrong: wrong}
	_ = p.evaluate(a, &e, &template.ObjectMeta, &template.Spec) // it enforces nothing, so it refuses nothing
}

// exempts reports whether the namespace or user of a request is exempt. It notes the exemption.
func (p *Plugin) exempts(a *admission.Attributes) bool {
	why := ""
	switch {
	case p.exempt.namespace(a.Namespace):
		why = "namespace"
	case a.User != nil && a.User.Name != "" && slices.Contains(p.exempt.Usernames, a.User.Name):
		why = "user"
	default:
		return false
	}
	p.exempted(a, why)
	return true
}

func (p *Plugin) exempted(a *admission.Attributes, why string) {
	p.counts.Exempted(requestOf(a))
	a.Annotate(exemption, why)
}

// policyOf returns the policy of the namespace of a request, and the mistakes in its labels. A
// namespace that the cache lacks is looked up in the store.
func (p *Plugin) policyOf(ctx context.Context, a *admission.Attributes) (podsecurity.Policy, field.ErrorList, error) {
	namespace, err := p.namespaces.Of(ctx, a, request.Cached)
	if err != nil && meta.IsNotFound(err) { // IsNotFound allocates
		namespace, err = p.namespaces.Of(ctx, a, request.Consistent)
	}
	if err != nil {
		return podsecurity.Policy{}, nil, err
	}
	policy, wrong := podsecurity.PolicyOf(namespace.Labels, p.defaults)
	return policy, wrong, nil
}

// evaluation has the policy by which evaluate checks a pod.
type evaluation struct {
	policy   podsecurity.Policy
	wrong    field.ErrorList // the errors of the labels
	enforces bool            // false: the mode enforce does not count
}

// found are the violations of a level. evaluate keeps them for the next mode, because usually all
// modes have the same level.
type found struct {
	by   podsecurity.LevelVersion
	list podsecurity.Violations
}

// evaluate checks a pod or template. It refuses, audits and warns as the modes say. A pod that is
// refused gets no warning.
func (p *Plugin) evaluate(a *admission.Attributes, e *evaluation, m *meta.ObjectMeta, spec *corev1.PodSpec) error {
	if p.exempt.runtimeClass(spec.RuntimeClassName) {
		p.exempted(a, "runtimeClass")
		return nil
	}
	if err := e.wrong.ToAggregate(); err != nil {
		p.counts.Failed(false, requestOf(a))
		a.Annotate(failure, fmt.Sprintf("Failed to parse policy: %v", err))
	}
	var last found
	violationsOf := func(by podsecurity.LevelVersion) podsecurity.Violations {
		if last.by != by {
			last = found{by, podsecurity.Evaluate(by, m, spec)}
		}
		return last.list
	}
	var refused error
	if by := e.policy.Enforce; e.enforces {
		violations := violationsOf(by)
		a.Annotate(enforcePolicy, by.String())
		p.evaluated(a, by, enforce, len(violations) == 0)
		if len(violations) > 0 {
			refused = meta.NewForbidden(a.Resource.GroupResource(), a.Name,
				errors.New(violates("violates", by, violations)))
		}
	}
	if by := e.policy.Audit; len(violationsOf(by)) > 0 {
		a.Annotate(auditViolations, violates("would violate", by, last.list))
		p.evaluated(a, by, audit, false)
	}
	if by := e.policy.Warn; refused == nil && len(violationsOf(by)) > 0 {
		a.Warn(violates("would violate", by, last.list))
		p.evaluated(a, by, warn, false)
	}
	return refused
}

// maxViolations bounds the text of the violations in a message, in bytes: a pod may have very many
// containers. kube-apiserver has no bound.
const maxViolations = 64 << 10

func violates(verb string, by podsecurity.LevelVersion, v podsecurity.Violations) string {
	return verb + ` PodSecurity "` + by.String() + `": ` + field.Cut(v.String(), maxViolations)
}

// evaluatedAgain reports whether an update of a pod is evaluated: it changes an image or the number
// of containers. No update can change the other fields that the checks read.
func evaluatedAgain(pod, old *corev1.Pod) bool {
	if changesImages(pod.Spec.Containers, old.Spec.Containers) ||
		changesImages(pod.Spec.InitContainers, old.Spec.InitContainers) {
		return true
	}
	images := make(map[string]string, len(old.Spec.EphemeralContainers)) // by name: their order may change
	for i := range old.Spec.EphemeralContainers {
		images[old.Spec.EphemeralContainers[i].Name] = old.Spec.EphemeralContainers[i].Image
	}
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		if image, had := images[c.Name]; !had || image != c.Image {
			return true
		}
	}
	return false
}

func changesImages(list, old []corev1.Container) bool {
	if len(list) != len(old) {
		return true
	}
	for i := range list {
		if list[i].Image != old[i].Image {
			return true
		}
	}
	return false
}
