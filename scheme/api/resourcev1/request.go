package resourcev1

import "github.com/coracle-project/coracle/scheme/meta"

// DeviceClaim asks for devices.
type DeviceClaim struct {
	// What is asked for, all of it. At most 32, of unique names.
	Requests []DeviceRequest `json:"requests" pb:"1" check:"optional" list:"atomic"`
	// What must hold for devices of several requests. At most 32.
	Constraints []DeviceConstraint `json:"constraints,omitempty" pb:"2" list:"atomic"`
	// How the devices are set up. At most 32.
	Config []DeviceClaimConfiguration `json:"config,omitempty" pb:"3" list:"atomic"`
}

// DeviceRequest asks for devices of one sort: either exactly, or the first of several that can be
// had.
type DeviceRequest struct {
	// Name of the request, by which constraints, configurations and containers mean it: a DNS
	// label.
	Name string `json:"name" pb:"1"`
	// What is asked for.
	Exactly *ExactDeviceRequest `json:"exactly,omitempty" pb:"2"`
	// What is asked for, the best first. At most 8, of unique names.
	FirstAvailable []DeviceSubRequest `json:"firstAvailable,omitempty" pb:"3" list:"atomic"`
}

// ExactDeviceRequest asks for devices of a class.
type ExactDeviceRequest struct {
	// Class that the devices are of; its selectors and configurations apply to them.
	DeviceClassName string `json:"deviceClassName" pb:"1"`
	// Conditions that the devices meet beside those of the class, all of them. At most 32.
	Selectors []DeviceSelector `json:"selectors,omitempty" pb:"2" list:"atomic"`
	// How many are asked for: All that meet the conditions, or ExactCount, which is the default.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" pb:"3" enum:"All,ExactCount"`
	// How many with ExactCount; at least 1, which is the default.
	Count int64 `json:"count,omitempty" pb:"4"`
	// True for access as an administrator, whoever else uses the devices; the namespace must have
	// the label resource.kubernetes.io/admin-access=true.
	AdminAccess *bool `json:"adminAccess,omitempty" pb:"5"`
	// Taints of devices that do not matter. At most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" pb:"6" list:"atomic"`
	// How much of each device's capacity is asked for.
	Capacity *CapacityRequirements `json:"capacity,omitempty" pb:"7"`
}

// DeviceSubRequest is one of several choices: as ExactDeviceRequest, with a name and without access
// as an administrator.
type DeviceSubRequest struct {
	// Name of the choice, by which constraints, configurations and containers mean it after that of
	// the request and a slash: a DNS label.
	Name string `json:"name" pb:"1"`
	// Class that the devices are of; its selectors and configurations apply to them.
	DeviceClassName string `json:"deviceClassName" pb:"2"`
	// Conditions that the devices meet beside those of the class, all of them. At most 32.
	Selectors []DeviceSelector `json:"selectors,omitempty" pb:"3" list:"atomic"`
	// How many are asked for: All that meet the conditions, or ExactCount, which is the default.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" pb:"4" enum:"All,ExactCount"`
	// How many with ExactCount; at least 1, which is the default.
	Count int64 `json:"count,omitempty" pb:"5"`
	// Taints of devices that do not matter. At most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" pb:"6" list:"atomic"`
	// How much of each device's capacity is asked for.
	Capacity *CapacityRequirements `json:"capacity,omitempty" pb:"7"`
}

// DeviceAllocationMode tells how many devices are asked for.
type DeviceAllocationMode string

// The allocation modes.
const (
	// DeviceAllocationModeExactCount: a number of them.
	DeviceAllocationModeExactCount DeviceAllocationMode = "ExactCount"
	// DeviceAllocationModeAll: all of a pool that meet the conditions.
	DeviceAllocationModeAll DeviceAllocationMode = "All"
)

// CapacityRequirements tells how much of a device is asked for.
type CapacityRequirements struct {
	// How much of the capacity of each name; the default is what the device says.
	Requests map[QualifiedName]meta.Quantity `json:"requests,omitempty" pb:"1"`
}

// DeviceToleration lets a claim have devices in spite of a taint.
type DeviceToleration struct {
	// Key of the taint; empty, with operator Exists, for all.
	Key string `json:"key,omitempty" pb:"1"`
	// How key and value are compared: Exists looks at the key only, Equal, the default, also at the
	// value.
	Operator DeviceTolerationOperator `json:"operator,omitempty" pb:"2" default:"Equal" enum:"Equal,Exists"`
	// Value of the taint; must be empty with Exists.
	Value string `json:"value,omitempty" pb:"3"`
	// Effect of the taint: NoSchedule, NoExecute or None; empty for all.
	Effect DeviceTaintEffect `json:"effect,omitempty" pb:"4" enum:"NoExecute,NoSchedule,None"`
	// How long a taint with NoExecute does not matter, in seconds from when it was added; 0 or less
	// for not at all. The default is for ever.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" pb:"5"`
}

// DeviceTolerationOperator tells how a toleration and a taint are compared.
type DeviceTolerationOperator string

// The operators of tolerations.
const (
	DeviceTolerationOpExists DeviceTolerationOperator = "Exists"
	DeviceTolerationOpEqual  DeviceTolerationOperator = "Equal"
)

// DeviceConstraint is what must hold for devices of several requests. One of matchAttribute and
// distinctAttribute is set.
type DeviceConstraint struct {
	// Requests that the constraint is for, 'request' or 'request/subrequest'. At most 32; empty for
	// all.
	Requests []string `json:"requests,omitempty" pb:"1" list:"atomic"`
	// Attribute that all of the devices have with the same value.
	MatchAttribute *FullyQualifiedName `json:"matchAttribute,omitempty" pb:"2"`
	// Attribute that all of the devices have with different values.
	DistinctAttribute *FullyQualifiedName `json:"distinctAttribute,omitempty" pb:"3"`
}

// DeviceClaimConfiguration is how devices of a claim are set up.
type DeviceClaimConfiguration struct {
	// Requests that the configuration is for, 'request' or 'request/subrequest'. At most 32; empty
	// for all.
	Requests []string `json:"requests,omitempty" pb:"1" list:"atomic"`
	// The configuration.
	DeviceConfiguration `json:",inline" pb:"2"`
}
