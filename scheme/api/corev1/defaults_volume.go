package corev1

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
