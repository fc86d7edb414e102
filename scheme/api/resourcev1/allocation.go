package resourcev1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// AllocationResult is what has been allocated for a claim.
type AllocationResult struct {
	// The devices.
	Devices DeviceAllocationResult `json:"devices,omitempty" pb:"1"`
	// Nodes that can use the devices; unset for all.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" pb:"3"`
	// When the devices were allocated.
	AllocationTimestamp *meta.Time `json:"allocationTimestamp,omitempty" pb:"5"`
}

// DeviceAllocationResult lists devices and how they are set up.
type DeviceAllocationResult struct {
	// The devices. At most 32.
	Results []DeviceRequestAllocationResult `json:"results,omitempty" pb:"1" list:"atomic"`
	// How they are set up, those of classes before those of the claim. At most 64.
	Config []DeviceAllocationConfiguration `json:"config,omitempty" pb:"2" list:"atomic"`
}

// DeviceRequestAllocationResult is a device that was allocated for a request.
type DeviceRequestAllocationResult struct {
	// The request of the claim, 'request' or 'request/subrequest'.
	Request string `json:"request" pb:"1"`
	// Name of the driver.
	Driver string `json:"driver" pb:"2"`
	// Name of the pool.
	Pool string `json:"pool" pb:"3"`
	// Name of the device.
	Device string `json:"device" pb:"4"`
	// True if the claim has access as an administrator.
	AdminAccess *bool `json:"adminAccess,omitempty" pb:"5"`
	// The tolerations of the request, as they were then.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" pb:"6" list:"atomic"`
	// The binding conditions of the device, as they were then.
	BindingConditions []string `json:"bindingConditions,omitempty" pb:"7" list:"atomic"`
	// The binding failure conditions of the device, as they were then.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" pb:"8" list:"atomic"`
	// Which part of the device, if it can be given to several claims: a UUID in lower case.
	ShareID *meta.UID `json:"shareID,omitempty" pb:"9"`
	// What the claim takes of the device's capacity, if it can be given to several claims.
	ConsumedCapacity map[QualifiedName]meta.Quantity `json:"consumedCapacity,omitempty" pb:"10"`
}

// DeviceAllocationConfiguration is how devices that were allocated are set up.
type DeviceAllocationConfiguration struct {
	// Where the configuration is from: FromClass or FromClaim.
	Source AllocationConfigSource `json:"source" pb:"1" enum:"FromClaim,FromClass"`
	// Requests that the configuration is for, 'request' or 'request/subrequest'. At most 32; empty
	// for all.
	Requests []string `json:"requests,omitempty" pb:"2" list:"atomic"`
	// The configuration.
	DeviceConfiguration `json:",inline" pb:"3"`
}

// AllocationConfigSource tells where a configuration is from.
type AllocationConfigSource string

// The sources of configurations.
const (
	AllocationConfigSourceClass AllocationConfigSource = "FromClass"
	AllocationConfigSourceClaim AllocationConfigSource = "FromClaim"
)
