package apps

import (
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file checks stateful sets and their status; the declaration in statefulset.go calls it. A
// stateful set may change less of its spec than a deployment, because each of its pods keeps its
// name and volumes.

// statefulSetCheck is the check of one spec, with the rules for its template.
type statefulSetCheck struct {
	podspec.Rules
	// update skips the name of the service and the claim templates. statefulSetUpdate refuses a
	// change of them, and an old set may have invalid ones.
	update bool
	// keepTemplate skips the spec of the template. It is set if the old spec of the set breaks a
	// rule.
	keepTemplate bool
}

// checkStatefulSet returns what is wrong with a new stateful set, or with an update of old.
func checkStatefulSet(rules podspec.Rules, s, old *appsv1.StatefulSet) field.ErrorList {
	c, p := &statefulSetCheck{Rules: rules}, field.NewPath("spec")
	if old == nil {
		return c.spec(p, &s.Spec)
	}
	c.Rules, c.update = rules.AfterTemplate(&old.Spec.Template), true
	c.keepTemplate = len(c.spec(p, &old.Spec)) > 0
	return append(c.spec(p, &s.Spec), statefulSetUpdate(p, s.Spec, &old.Spec)...)
}

// statefulSetUpdate refuses an update of the spec at p that changes any field but those that the
// message lists. spec is a copy; statefulSetUpdate overwrites the listed fields in it and compares
// the rest.
func statefulSetUpdate(p *field.Path, spec appsv1.StatefulSetSpec, old *appsv1.StatefulSetSpec) field.ErrorList {
	spec.Replicas, spec.Ordinals, spec.MinReadySeconds = old.Replicas, old.Ordinals, old.MinReadySeconds
	spec.Template, spec.UpdateStrategy, spec.RevisionHistoryLimit =
		old.Template, old.UpdateStrategy, old.RevisionHistoryLimit
	spec.PersistentVolumeClaimRetentionPolicy = old.PersistentVolumeClaimRetentionPolicy
	if scheme.Equal(&spec, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(p, "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "+
		"'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")}
}

// spec returns what is wrong with a spec at p. If the selector is invalid, the template is not
// checked.
func (c *statefulSetCheck) spec(p *field.Path, spec *appsv1.StatefulSetSpec) field.ErrorList {
	errs := checkManagement(p.Child("podManagementPolicy"), spec.PodManagementPolicy)
	errs = append(errs, checkStatefulStrategy(p.Child("updateStrategy"), &spec.UpdateStrategy)...)
	errs = append(errs, checkRetention(p.Child("persistentVolumeClaimRetentionPolicy"),
		spec.PersistentVolumeClaimRetentionPolicy)...)
	if !c.update {
		for i, claim := range field.Each(&errs, spec.VolumeClaimTemplates) {
			errs = append(errs, podspec.Claim(p.Child("volumeClaimTemplates").Index(i).Child("spec"), &claim.Spec,
				nil)...)
		}
	}
	errs = append(errs, check.NotNegative(p, check.Count("replicas", spec.Replicas),
		check.Count("minReadySeconds", &spec.MinReadySeconds))...)
	if spec.Ordinals != nil {
		errs = append(errs, check.NotNegative(p, check.Count("ordinals.start", &spec.Ordinals.Start))...)
	}
	if !c.update {
		errs = append(errs, check.Optional(p.Child("serviceName"), spec.ServiceName, check.DNSLabel)...)
	}
	errs = append(errs, podspec.Selector(p.Child("selector"), spec.Selector, "statefulset")...)
	template := p.Child("template")
	if selector, err := meta.SelectorFrom(spec.Selector); err != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), govalue.JSON(spec.Selector), ""))
	} else {
		errs = append(errs, c.template(template, createdPodTemplate(spec), selector)...)
	}
	return append(errs, podspec.LongRunningTemplate(template, &spec.Template, "StatefulSet")...)
}

// template returns what is wrong with a template at p that selector must match. Unless keepTemplate
// is set, errors in its metadata are reported twice, as in kube-apiserver.
func (c *statefulSetCheck) template(p *field.Path, t *corev1.PodTemplateSpec,
	selector meta.LabelRequirements) field.ErrorList {
	errs := podspec.SelectorMatchesTemplate(p, t, selector)
	if !c.keepTemplate {
		errs = append(errs, c.Template(p, t)...)
	}
	return append(errs, c.TemplateMeta(p, t)...)
}

// createdPodTemplate returns the template with the changes that the controller makes for a pod: the
// controller sets host name and subdomain, and each claim template becomes a volume, which replaces
// a volume of the same name. A container may mount such a volume, so the template is checked in
// this form. spec is not changed.
func createdPodTemplate(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	t := spec.Template
	t.Spec.Subdomain, t.Spec.Hostname = "", ""
	if len(spec.VolumeClaimTemplates) == 0 {
		return &t
	}
	own := check.Duplicates{}
	var volumes []corev1.Volume
	for i := range spec.VolumeClaimTemplates {
		if name := spec.VolumeClaimTemplates[i].Name; own.Add(name) {
			source := corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
	}
	rest := slices.DeleteFunc(slices.Clone(t.Spec.Volumes), func(v corev1.Volume) bool { return own[v.Name] })
	t.Spec.Volumes = append(volumes, rest...)
	return &t
}

// checkManagement checks podManagementPolicy: whether pods start and stop one by one or all at
// once.
func checkManagement(p *field.Path, policy appsv1.PodManagementPolicyType) field.ErrorList {
	switch policy {
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
		return nil
	case "":
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.Invalid(p, policy, "must be 'OrderedReady' or 'Parallel'")}
}

// checkStatefulStrategy checks how a stateful set replaces its pods. p is the path of the strategy.
func checkStatefulStrategy(p *field.Path, s *appsv1.StatefulSetUpdateStrategy) field.ErrorList {
	limits := p.Child("rollingUpdate")
	switch s.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(limits, govalue.JSON(s.RollingUpdate),
				"only allowed for updateStrategy 'RollingUpdate'")}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return checkRollingStatefulSet(limits, s.RollingUpdate)
	case "":
		return field.ErrorList{field.Required(p, "")}
	}
	return field.ErrorList{field.Invalid(p, govalue.JSON(s), "must be 'RollingUpdate' or 'OnDelete'")}
}

// checkRollingStatefulSet checks the limits of a rolling update: the ordinal from which pods are
// updated, which is reported on p itself as in kube-apiserver, and how many may be unavailable
// (KEP-961).
func checkRollingStatefulSet(p *field.Path, r *appsv1.RollingUpdateStatefulSetStrategy) field.ErrorList {
	errs := check.NotNegative(p, check.Count("partition", r.Partition))
	if r.MaxUnavailable == nil {
		return errs
	}
	missing, p := *r.MaxUnavailable, p.Child("maxUnavailable")
	errs = append(errs, check.IntOrPercent(p, missing)...)
	if check.Amount(missing) == 0 {
		errs = append(errs, field.Invalid(p, missing, "cannot be 0"))
	}
	return append(errs, check.AtMost100Percent(p, missing)...)
}

// checkRetention checks persistentVolumeClaimRetentionPolicy: whether claims are kept or deleted
// when the set is deleted or scaled down (KEP-1847).
func checkRetention(p *field.Path, policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) field.ErrorList {
	if policy == nil {
		return nil
	}
	errs := check.Supported(p.Child("whenDeleted"), policy.WhenDeleted,
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType)
	return append(errs, check.Supported(p.Child("whenScaled"), policy.WhenScaled,
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		appsv1.DeletePersistentVolumeClaimRetentionPolicyType)...)
}

// checkStatefulSetStatus checks the counts of pods in a status, as checkDeploymentStatus does.
func checkStatefulSetStatus(set, old *appsv1.StatefulSet) field.ErrorList {
	s, p := &set.Status, field.NewPath("status")
	ready, current := check.Count("readyReplicas", &s.ReadyReplicas), check.Count("currentReplicas", &s.CurrentReplicas)
	updated, available := check.Count("updatedReplicas", &s.UpdatedReplicas),
		check.Count("availableReplicas", &s.AvailableReplicas)
	errs := check.NotNegative(p, check.Count("replicas", &s.Replicas), ready, current, updated, available,
		check.Number{"observedGeneration", s.ObservedGeneration}, check.Count("collisionCount", s.CollisionCount))
	errs = append(errs, check.AtMost(p, s.Replicas, "status.replicas", ready, current, updated, available)...)
	errs = append(errs, check.AtMost(p, s.ReadyReplicas, "status.readyReplicas", available)...)
	return append(errs, checkCollisionCount(p, s.CollisionCount, old.Status.CollisionCount)...)
}
