package storagev1

import "github.com/coracle-project/coracle/scheme/api/corev1"

func defaultStorageClass(c *StorageClass) {
	setPointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setPointer(&c.VolumeBindingMode, VolumeBindingImmediate)
}

func defaultDriver(d *CSIDriver) {
	spec := &d.Spec
	setPointer(&spec.AttachRequired, true)
	setPointer(&spec.PodInfoOnMount, false)
	setPointer(&spec.StorageCapacity, false)
	setPointer(&spec.FSGroupPolicy, ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []VolumeLifecycleMode{VolumeLifecyclePersistent}
	}
	setPointer(&spec.RequiresRepublish, false)
	setPointer(&spec.SELinuxMount, false)
}

// setPointer makes *p point to v if it is nil.
func setPointer[T any](p **T, v T) {
	if *p == nil {
		made := v // v itself would be allocated even where it is not needed
		*p = &made
	}
}
