package appsv1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Defaults of sets of pods.
const (
	defaultReplicas         = 1
	defaultHistory          = 10
	defaultProgressDeadline = 600
)

// defaultStep is how many pods of a deployment are replaced at a time.
var defaultStep = meta.FromString("25%")

// What the functions here need (scheme.AddDefaulting). Claim templates say their kind in JSON only:
// with them a set is looked at closer if it is stored as protobuf.
var (
	deploymentNeeds = []string{
		"spec.replicas", "spec.revisionHistoryLimit", "spec.progressDeadlineSeconds", "spec.strategy.type",
		"spec.strategy.type=Recreate | spec.strategy.rollingUpdate.maxUnavailable",
		"spec.strategy.type=Recreate | spec.strategy.rollingUpdate.maxSurge",
	}
	daemonSetNeeds = []string{
		"metadata.annotations[" + TemplateGenerationAnnotation + "]", "spec.revisionHistoryLimit",
		"spec.updateStrategy.type",
		"spec.updateStrategy.type=OnDelete | spec.updateStrategy.rollingUpdate.maxUnavailable",
		"spec.updateStrategy.type=OnDelete | spec.updateStrategy.rollingUpdate.maxSurge",
	}
	statefulSetNeeds = []string{
		"spec.podManagementPolicy", "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate: partition",
		"spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
		"spec.replicas", "spec.revisionHistoryLimit",
		"spec.volumeClaimTemplates[]: kind=PersistentVolumeClaim", "spec.volumeClaimTemplates[]: apiVersion=v1",
	}
)

func defaultDeployment(d *Deployment) {
	spec := &d.Spec
	scheme.SetPointer(&spec.Replicas, defaultReplicas)
	scheme.SetDefault(&spec.Strategy.Type, RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == RollingUpdateDeploymentStrategyType {
		scheme.SetPointer(&spec.Strategy.RollingUpdate, RollingUpdateDeployment{})
		scheme.SetPointer(&spec.Strategy.RollingUpdate.MaxUnavailable, defaultStep)
		scheme.SetPointer(&spec.Strategy.RollingUpdate.MaxSurge, defaultStep)
	}
	scheme.SetPointer(&spec.RevisionHistoryLimit, defaultHistory)
	scheme.SetPointer(&spec.ProgressDeadlineSeconds, defaultProgressDeadline)
}

func defaultReplicaSet(rs *ReplicaSet) { scheme.SetPointer(&rs.Spec.Replicas, defaultReplicas) }

func defaultStatefulSet(s *StatefulSet) { DefaultStatefulSetSpec(&s.Spec) }

// DefaultStatefulSetSpec sets the defaults of a stateful set. It also names the kind of the claim
// templates, as kube-apiserver does.
func DefaultStatefulSetSpec(spec *StatefulSetSpec) {
	scheme.SetDefault(&spec.PodManagementPolicy, OrderedReadyPodManagement)
	if spec.UpdateStrategy.Type == "" {
		spec.UpdateStrategy.Type = RollingUpdateStatefulSetStrategyType
		scheme.SetPointer(&spec.UpdateStrategy.RollingUpdate, RollingUpdateStatefulSetStrategy{})
	}
	if r := spec.UpdateStrategy.RollingUpdate; r != nil {
		scheme.SetPointer(&r.Partition, 0)
	}
	scheme.SetPointer(&spec.PersistentVolumeClaimRetentionPolicy, StatefulSetPersistentVolumeClaimRetentionPolicy{})
	scheme.SetDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted,
		RetainPersistentVolumeClaimRetentionPolicyType)
	scheme.SetDefault(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled,
		RetainPersistentVolumeClaimRetentionPolicyType)
	scheme.SetPointer(&spec.Replicas, defaultReplicas)
	scheme.SetPointer(&spec.RevisionHistoryLimit, defaultHistory)
	nameTemplates(spec)
}

// NameNested names the kind of the claim templates, which protobuf leaves out.
func (s *StatefulSet) NameNested() { nameTemplates(&s.Spec) }

func nameTemplates(spec *StatefulSetSpec) {
	for i := range spec.VolumeClaimTemplates {
		spec.VolumeClaimTemplates[i].SetGroupVersionKind(corev1.GroupVersion.WithKind("PersistentVolumeClaim"))
	}
}

// defaultDaemonSet also counts the templates from 0 on.
func defaultDaemonSet(ds *DaemonSet) {
	if ds.Annotations[TemplateGenerationAnnotation] == "" {
		if ds.Annotations == nil {
			ds.Annotations = map[string]string{}
		}
		ds.Annotations[TemplateGenerationAnnotation] = "0"
	}
	scheme.SetDefault(&ds.Spec.UpdateStrategy.Type, RollingUpdateDaemonSetStrategyType)
	DefaultDaemonSetUpdateStrategy(&ds.Spec.UpdateStrategy)
	scheme.SetPointer(&ds.Spec.RevisionHistoryLimit, defaultHistory)
}

// DefaultDaemonSetUpdateStrategy sets the limits of a rolling update: by default one pod is
// unavailable, and there is no surge. A strategy of another type that has limits gets 0 for those
// that it leaves out, as in kube-apiserver.
func DefaultDaemonSetUpdateStrategy(strategy *DaemonSetUpdateStrategy) {
	unavailable := meta.FromInt32(0)
	if strategy.Type == RollingUpdateDaemonSetStrategyType {
		scheme.SetPointer(&strategy.RollingUpdate, RollingUpdateDaemonSet{})
		unavailable = meta.FromInt32(1)
	}
	if r := strategy.RollingUpdate; r != nil {
		scheme.SetPointer(&r.MaxUnavailable, unavailable)
		scheme.SetPointer(&r.MaxSurge, meta.FromInt32(0))
	}
}
