package core

import (
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares persistentvolumes, and the cells that volumes and claims share.
// registry/podspec checks the spec: it has the rules of volume sources. Resources calls
// persistentVolumes.

// persistentVolumes declares persistentvolumes. A controller outside of this server binds volumes
// to claims and sets the phase. This server only records when the phase changed (KEP-3762).
func persistentVolumes() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.PersistentVolume]{
		GroupResource: meta.GroupResource{Resource: "persistentvolumes"},
		Kind:          "PersistentVolume", ShortNames: []string{"pv"},
		Strategy: registry.StrategyOf[*corev1.PersistentVolume]{
			Prepare:  prepareVolume,
			Validate: checkVolume,
			Warnings: func(v, _ *corev1.PersistentVolume) []string {
				return podspec.PersistentVolumeWarnings(v)
			},
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*corev1.PersistentVolume]{
			Prepare: prepareVolumeStatus, Metadata: registry.MetaChange,
		},
		Table: &registry.TableOf[*corev1.PersistentVolume]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Capacity", "How much the volume holds.", 0),
				registry.Column("Access Modes", "How the volume can be mounted.", 0),
				registry.Column("Reclaim Policy", "What happens to the volume once its claim is gone.", 0),
				registry.Column("Status", "What became of the volume.", 0),
				registry.Column("Claim", "Claim that the volume is bound to.", 0),
				registry.Column("StorageClass", "Storage class of the volume.", 0),
				registry.Column("VolumeAttributesClass", "Volume attributes class of the volume.", 0),
				registry.Column("Reason", "Why the volume failed.", 0),
				registry.AgeColumn,
				registry.Column("VolumeMode", "Whether the volume holds a file system or is a raw device.", 1),
			},
			Cells: volumeCells,
		},
		ReturnsDeleted: true,
	})
}

// prepareVolume makes a new volume Pending.
func prepareVolume(r *registry.Request, v, old *corev1.PersistentVolume) {
	if old == nil {
		v.Status.Phase, v.Status.LastPhaseTransitionTime = corev1.VolumePending, &meta.Time{Time: r.Now}
	}
}

// prepareVolumeStatus keeps the time of the last change of the phase. If the phase changes, it sets
// the time of the request, unless the client sets another time than before.
func prepareVolumeStatus(r *registry.Request, v, old *corev1.PersistentVolume) {
	status, was := &v.Status, &old.Status
	switch {
	case status.Phase == was.Phase:
		if status.LastPhaseTransitionTime == nil {
			status.LastPhaseTransitionTime = was.LastPhaseTransitionTime
		}
	case status.LastPhaseTransitionTime == nil || status.LastPhaseTransitionTime.Equal(was.LastPhaseTransitionTime):
		status.LastPhaseTransitionTime = &meta.Time{Time: r.Now}
	}
}

// checkVolume checks a volume. An update repeats the checks of metadata and spec, so a client gets
// each of these errors twice, as from kube-apiserver.
func checkVolume(v, old *corev1.PersistentVolume) field.ErrorList {
	spec := podspec.PersistentVolume(field.NewPath("spec"), &v.Spec, v.Name)
	if old == nil {
		return slices.Concat(check.Finalizers(&v.ObjectMeta), spec, checkMountOptions(v))
	}
	whole := append(check.ObjectMeta(&v.ObjectMeta, false, names.DNSSubdomainName), spec...)
	return slices.Concat(whole, checkMountOptions(v), whole, checkVolumeUpdate(v, old))
}

// checkMountOptions refuses the annotation volume.beta.kubernetes.io/mount-options for sources that
// have never read it.
func checkMountOptions(v *corev1.PersistentVolume) field.ErrorList {
	s := &v.Spec.PersistentVolumeSource
	mounted := s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil ||
		s.RBD != nil || s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil ||
		s.AzureFile != nil || s.VsphereVolume != nil || s.AzureDisk != nil || s.PhotonPersistentDisk != nil
	if _, ok := v.Annotations[corev1.MountOptionsAnnotation]; !ok || mounted {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionsAnnotation),
		"may not specify mount options for this volume type")}
}

// checkVolumeUpdate checks a change. The source is immutable, except that the secret for expansion
// of a CSI volume may be set once. Node affinity may be set once. A volume attributes class may
// change but not be removed (KEP-3751). Some paths lack "spec" or are in lower case, as in
// Kubernetes.
func checkVolumeUpdate(v, old *corev1.PersistentVolume) field.ErrorList {
	var errs field.ErrorList
	spec, was := &v.Spec, &old.Spec
	source := spec.PersistentVolumeSource
	if source.CSI != nil && was.CSI != nil && was.CSI.ControllerExpandSecretRef == nil {
		csi := *source.CSI
		csi.ControllerExpandSecretRef = nil
		source.CSI = &csi
	}
	if !scheme.Equal(&source, &was.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
			"spec.persistentvolumesource is immutable after creation\n"+
				govalue.Diff(was.PersistentVolumeSource, source)))
	}
	errs = append(errs, check.Immutable(field.NewPath("volumeMode"), spec.VolumeMode, was.VolumeMode)...)
	if was.NodeAffinity != nil && !sameNodes(spec.NodeAffinity, was.NodeAffinity) {
		errs = append(errs, field.Invalid(field.NewPath("nodeAffinity"), govalue.JSON(spec.NodeAffinity),
			"field is immutable, except for updating from beta label to GA"))
	}
	if was.VolumeAttributesClassName != nil && spec.VolumeAttributesClassName == nil {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "volumeAttributesClassName"),
			"update from non-nil value to nil is forbidden"))
	}
	return errs
}

// newLabels maps the beta names of node labels to their final names.
var newLabels = map[string]string{
	"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
	"beta.kubernetes.io/os":                    "kubernetes.io/os",
	"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
	"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
}

// sameNodes reports whether an affinity is the old one, except that beta labels may have got their
// final names.
func sameNodes(now, was *corev1.VolumeNodeAffinity) bool {
	if now == nil || now.Required == nil || was.Required == nil {
		return scheme.Equal(now, was)
	}
	was = scheme.DeepCopy(was)
	terms, old := now.Required.NodeSelectorTerms, was.Required.NodeSelectorTerms
	for i := range min(len(terms), len(old)) {
		renameLabels(terms[i].MatchExpressions, old[i].MatchExpressions)
		renameLabels(terms[i].MatchFields, old[i].MatchFields)
	}
	return scheme.Equal(now, was)
}

// renameLabels gives was the final names of labels where now has them. It changes was.
func renameLabels(now, was []corev1.NodeSelectorRequirement) {
	for i := range min(len(now), len(was)) {
		if newLabels[was[i].Key] == now[i].Key {
			was[i].Key = now[i].Key
		}
	}
}

func volumeCells(v *corev1.PersistentVolume, now time.Time) []any {
	spec, claim := &v.Spec, ""
	if ref := spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	class, _ := corev1.StorageClassOf(&v.ObjectMeta, &spec.StorageClassName)
	return []any{
		v.Name, amountText(spec.Capacity), accessModes(spec.AccessModes), string(spec.PersistentVolumeReclaimPolicy),
		phaseOf(&v.ObjectMeta, string(v.Status.Phase)), claim, class,
		orUnset(spec.VolumeAttributesClassName), v.Status.Reason, registry.Age(&v.ObjectMeta, now),
		orUnset(spec.VolumeMode),
	}
}

// The cells that volumes and claims have in common.

// amountText prints the amount of storage in a list, "0" if there is none.
func amountText(list corev1.ResourceList) string {
	q := list[corev1.ResourceStorage]
	return q.String()
}

// accessModes abbreviates access modes, each once, in kubectl's order: "RWO,ROX".
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var list []string
	for _, m := range []struct {
		mode corev1.PersistentVolumeAccessMode
		text string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"},
		{corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		if slices.Contains(modes, m.mode) {
			list = append(list, m.text)
		}
	}
	return strings.Join(list, ",")
}

// phaseOf returns the phase, or Terminating for an object that is being deleted.
func phaseOf(m *meta.ObjectMeta, phase string) string {
	if m.DeletionTimestamp != nil {
		return "Terminating"
	}
	return phase
}

// orUnset prints an optional text, "<unset>" for nil.
func orUnset[T ~string](s *T) string {
	if s == nil {
		return registry.Unset
	}
	return string(*s)
}
