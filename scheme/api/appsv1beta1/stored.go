// Package appsv1beta1 declares the versions of apps that may occur in the store but are not served:
// apps/v1beta1, apps/v1beta2, and extensions/v1beta1, whose objects have the keys of apps in the
// store. The struct tags say only where fields lie. They have no schemas and no checks, because
// objects are converted as soon as they are read.
//
// The kinds themselves are declared in scheme/api/appsv1.
package appsv1beta1

import (
	"maps"
	"math"
	"strconv"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/appsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Scheme registers the versions, their defaults, and the conversions to apps/v1. It needs the kinds
// of apps/v1.
var Scheme = scheme.NewBuilder(addKinds, addDefaults, addConversions)

func addKinds(s *scheme.Scheme) {
	add := func(group, version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: group, Version: version, Kind: kind},
			appsv1.GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("apps", "v1beta1", "ControllerRevision", &appsv1.ControllerRevision{})
	add("apps", "v1beta1", "Deployment", &deployment{})
	add("apps", "v1beta1", "StatefulSet", &statefulSet{})

	add("apps", "v1beta2", "ControllerRevision", &appsv1.ControllerRevision{})
	add("apps", "v1beta2", "DaemonSet", &appsv1.DaemonSet{})
	add("apps", "v1beta2", "Deployment", &appsv1.Deployment{})
	add("apps", "v1beta2", "ReplicaSet", &appsv1.ReplicaSet{})
	add("apps", "v1beta2", "StatefulSet", &appsv1.StatefulSet{})

	add("extensions", "v1beta1", "DaemonSet", &extensionsDaemonSet{})
	add("extensions", "v1beta1", "Deployment", &extensionsDeployment{})
	add("extensions", "v1beta1", "ReplicaSet", &extensionsReplicaSet{})
}

type deployment struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            deploymentSpec          `json:"spec,omitempty" pb:"2"`
	Status          appsv1.DeploymentStatus `json:"status,omitempty" pb:"3"`
}

type deploymentSpec struct {
	Replicas                *int32                    `json:"replicas,omitempty" pb:"1"`
	Selector                *meta.LabelSelector       `json:"selector,omitempty" pb:"2"`
	Template                corev1.PodTemplateSpec    `json:"template" pb:"3"`
	Strategy                appsv1.DeploymentStrategy `json:"strategy,omitempty" pb:"4"`
	MinReadySeconds         int32                     `json:"minReadySeconds,omitempty" pb:"5"`
	RevisionHistoryLimit    *int32                    `json:"revisionHistoryLimit,omitempty" pb:"6"`
	Paused                  bool                      `json:"paused,omitempty" pb:"7"`
	RollbackTo              *rollback                 `json:"rollbackTo,omitempty" pb:"8"`
	ProgressDeadlineSeconds *int32                    `json:"progressDeadlineSeconds,omitempty" pb:"9"`
}

type rollback struct {
	Revision int64 `json:"revision,omitempty" pb:"1"`
}

type statefulSet appsv1.StatefulSet

type extensionsDeployment deployment

type extensionsReplicaSet appsv1.ReplicaSet

type extensionsDaemonSet struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            extensionsDaemonSetSpec `json:"spec,omitempty" pb:"2"`
	Status          appsv1.DaemonSetStatus  `json:"status,omitempty" pb:"3"`
}

type extensionsDaemonSetSpec struct {
	Selector             *meta.LabelSelector            `json:"selector,omitempty" pb:"1"`
	Template             corev1.PodTemplateSpec         `json:"template" pb:"2"`
	UpdateStrategy       appsv1.DaemonSetUpdateStrategy `json:"updateStrategy,omitempty" pb:"3"`
	MinReadySeconds      int32                          `json:"minReadySeconds,omitempty" pb:"4"`
	TemplateGeneration   int64                          `json:"templateGeneration,omitempty" pb:"5"`
	RevisionHistoryLimit *int32                         `json:"revisionHistoryLimit,omitempty" pb:"6"`
}

func addDefaults(s *scheme.Scheme) {
	scheme.AddDefaulting(s, defaultDeployment)
	scheme.AddDefaulting(s, defaultStatefulSet)
	scheme.AddDefaulting(s, defaultExtensionsDeployment)
	scheme.AddDefaulting(s, func(rs *extensionsReplicaSet) {
		defaultLabels(&rs.ObjectMeta, &rs.Spec.Selector, &rs.Spec.Template)
		scheme.SetPointer(&rs.Spec.Replicas, 1)
	})
	scheme.AddDefaulting(s, defaultExtensionsDaemonSet)
}

// defaultLabels gives what makes pods their labels, and has it select by them.
func defaultLabels(m *meta.ObjectMeta, selector **meta.LabelSelector, template *corev1.PodTemplateSpec) {
	if template.Labels == nil {
		return
	}
	if *selector == nil {
		*selector = &meta.LabelSelector{MatchLabels: maps.Clone(template.Labels)}
	}
	if len(m.Labels) == 0 {
		m.Labels = maps.Clone(template.Labels)
	}
}

func defaultDeployment(d *deployment) {
	spec := &d.Spec
	defaultLabels(&d.ObjectMeta, &spec.Selector, &spec.Template)
	scheme.SetPointer(&spec.Replicas, 1)
	scheme.SetDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		defaultSteps(&spec.Strategy, meta.FromString("25%"))
	}
	scheme.SetPointer(&spec.RevisionHistoryLimit, 2)
	scheme.SetPointer(&spec.ProgressDeadlineSeconds, 600)
}

func defaultExtensionsDeployment(d *extensionsDeployment) {
	spec := &d.Spec
	defaultLabels(&d.ObjectMeta, &spec.Selector, &spec.Template)
	scheme.SetPointer(&spec.Replicas, 1)
	scheme.SetDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType || spec.Strategy.RollingUpdate != nil {
		defaultSteps(&spec.Strategy, meta.FromInt32(1))
	}
	scheme.SetPointer(&spec.RevisionHistoryLimit, math.MaxInt32)
	scheme.SetPointer(&spec.ProgressDeadlineSeconds, math.MaxInt32)
}

// defaultSteps sets how many pods are replaced at a time.
func defaultSteps(strategy *appsv1.DeploymentStrategy, step meta.IntOrString) {
	scheme.SetPointer(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	scheme.SetPointer(&strategy.RollingUpdate.MaxUnavailable, step)
	scheme.SetPointer(&strategy.RollingUpdate.MaxSurge, step)
}

// defaultStatefulSet differs from apps/v1 in the labels and the strategy.
func defaultStatefulSet(set *statefulSet) {
	spec := &set.Spec
	defaultLabels(&set.ObjectMeta, &spec.Selector, &spec.Template)
	scheme.SetDefault(&spec.UpdateStrategy.Type, appsv1.OnDeleteStatefulSetStrategyType)
	appsv1.DefaultStatefulSetSpec(spec)
}

func defaultExtensionsDaemonSet(ds *extensionsDaemonSet) {
	spec := &ds.Spec
	defaultLabels(&ds.ObjectMeta, &spec.Selector, &spec.Template)
	scheme.SetDefault(&spec.UpdateStrategy.Type, appsv1.OnDeleteDaemonSetStrategyType)
	appsv1.DefaultDaemonSetUpdateStrategy(&spec.UpdateStrategy)
	scheme.SetPointer(&spec.RevisionHistoryLimit, 10)
}

// addConversions registers the fields that apps/v1 has as annotations. Such an annotation of an
// older object counts for nothing.
func addConversions(s *scheme.Scheme) {
	scheme.AddConversion(s, func(in *deployment, out *appsv1.Deployment) error {
		err := scheme.ConvertFields(s, in, out)
		noteRollback(&out.ObjectMeta, in.Spec.RollbackTo)
		return err
	})
	scheme.AddConversion(s, func(in *extensionsDeployment, out *appsv1.Deployment) error {
		err := scheme.ConvertFields(s, in, out)
		noteRollback(&out.ObjectMeta, in.Spec.RollbackTo)
		return err
	})
	scheme.AddConversion(s, func(in *deploymentSpec, out *appsv1.DeploymentSpec) error {
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *extensionsDaemonSet, out *appsv1.DaemonSet) error {
		err := scheme.ConvertFields(s, in, out)
		note(&out.ObjectMeta, appsv1.TemplateGenerationAnnotation, in.Spec.TemplateGeneration)
		return err
	})
	scheme.AddConversion(s, func(in *extensionsDaemonSetSpec, out *appsv1.DaemonSetSpec) error {
		return scheme.ConvertFields(s, in, out)
	})
}

// rollbackAnnotation asks for a rollback in apps/v1.
const rollbackAnnotation = "deprecated.deployment.rollback.to"

func noteRollback(m *meta.ObjectMeta, to *rollback) {
	if to == nil {
		delete(m.Annotations, rollbackAnnotation)
		return
	}
	note(m, rollbackAnnotation, to.Revision)
}

func note(m *meta.ObjectMeta, key string, value int64) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[key] = strconv.FormatInt(value, 10)
}
