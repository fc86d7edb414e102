package corev1

import "github.com/coracle-project/coracle/scheme"

// defaultPersistentVolume sets what only volumes, and not the specs of volumes in attachments, have
// by default.
func defaultPersistentVolume(v *PersistentVolume) {
	scheme.SetDefault(&v.Status.Phase, VolumePending)
	scheme.SetDefault(&v.Spec.PersistentVolumeReclaimPolicy, PersistentVolumeReclaimRetain)
	scheme.SetPointer(&v.Spec.VolumeMode, PersistentVolumeFilesystem)
}

func defaultPersistentVolumeSpec(spec *PersistentVolumeSpec) { roundResources(spec.Capacity) }

func defaultClaim(c *PersistentVolumeClaim) {
	scheme.SetDefault(&c.Status.Phase, ClaimPending)
	roundResources(c.Status.Capacity)
	roundResources(c.Status.AllocatedResources)
}

func defaultClaimSpec(spec *PersistentVolumeClaimSpec) {
	scheme.SetPointer(&spec.VolumeMode, PersistentVolumeFilesystem)
	roundResources(spec.Resources.Limits)
	roundResources(spec.Resources.Requests)
}
