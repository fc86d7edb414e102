package resourcev1

import (
	"time"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

func defaultDevice(d *Device) { defaultMappings(d.NodeAllocatableResourceMappings) }

// defaultMappings lets a device take as much of a node's resource as it has capacity, or one unit.
func defaultMappings(mappings map[corev1.ResourceName]NodeAllocatableResourceMapping) {
	for name, m := range mappings {
		scheme.SetPointer(&m.AllocationMultiplier, meta.NewQuantity(1, meta.DecimalSI))
		mappings[name] = m
	}
}

// defaultTaint takes taints that do not say since when they are there for new ones.
func defaultTaint(t *DeviceTaint) {
	if t.TimeAdded == nil {
		t.TimeAdded = &meta.Time{Time: time.Now().UTC().Truncate(time.Second)}
	}
}

func defaultRequest(r *ExactDeviceRequest) { defaultCount(&r.AllocationMode, &r.Count) }

func defaultSubRequest(r *DeviceSubRequest) { defaultCount(&r.AllocationMode, &r.Count) }

// defaultCount asks for one device.
func defaultCount(mode *DeviceAllocationMode, count *int64) {
	scheme.SetDefault(mode, DeviceAllocationModeExactCount)
	if *mode == DeviceAllocationModeExactCount {
		scheme.SetDefault(count, 1)
	}
}
