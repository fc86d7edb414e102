package corev1

// defaultPersistentVolume sets what only volumes, and not the specs of volumes in attachments, have by default.
func defaultPersistentVolume(v *PersistentVolume) {
	setDefault(&v.Status.Phase, VolumePending)
	setDefault(&v.Spec.PersistentVolumeReclaimPolicy, PersistentVolumeReclaimRetain)
	setPointer(&v.Spec.VolumeMode, PersistentVolumeFilesystem)
}

func defaultPersistentVolumeSpec(spec *PersistentVolumeSpec) { roundResources(spec.Capacity) }

func defaultClaim(c *PersistentVolumeClaim) {
	setDefault(&c.Status.Phase, ClaimPending)
	roundResources(c.Status.Capacity)
	roundResources(c.Status.AllocatedResources)
}

func defaultClaimSpec(spec *PersistentVolumeClaimSpec) {
	setPointer(&spec.VolumeMode, PersistentVolumeFilesystem)
	roundResources(spec.Resources.Limits)
	roundResources(spec.Resources.Requests)
}
