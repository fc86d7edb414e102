package storagev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

func defaultStorageClass(c *StorageClass) {
	scheme.SetPointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	scheme.SetPointer(&c.VolumeBindingMode, VolumeBindingImmediate)
}

func defaultDriver(d *CSIDriver) {
	spec := &d.Spec
	scheme.SetPointer(&spec.AttachRequired, true)
	scheme.SetPointer(&spec.PodInfoOnMount, false)
	scheme.SetPointer(&spec.StorageCapacity, false)
	scheme.SetPointer(&spec.FSGroupPolicy, ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []VolumeLifecycleMode{VolumeLifecyclePersistent}
	}
	scheme.SetPointer(&spec.RequiresRepublish, false)
	scheme.SetPointer(&spec.SELinuxMount, false)
}
