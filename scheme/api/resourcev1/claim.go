package resourcev1

import "github.com/coracle-project/coracle/scheme/meta"

// ResourceClaim asks for devices, and shows which ones it has got and who uses them.
type ResourceClaim struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What is asked for. Cannot be changed.
	Spec ResourceClaimSpec `json:"spec" pb:"2"`
	// What has been allocated, for whom, and how it is.
	Status ResourceClaimStatus `json:"status,omitempty" pb:"3"`
}

// ResourceClaimList is a list of claims.
type ResourceClaimList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ResourceClaim `json:"items" pb:"2"`
}

// ResourceClaimSpec is what a claim asks for.
type ResourceClaimSpec struct {
	// The devices.
	Devices DeviceClaim `json:"devices" pb:"1" check:"optional"`
}

// ResourceClaimTemplate is what claims are made from for single pods.
type ResourceClaimTemplate struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The claims that are made. Cannot be changed.
	Spec ResourceClaimTemplateSpec `json:"spec" pb:"2"`
}

// ResourceClaimTemplateList is a list of templates.
type ResourceClaimTemplateList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ResourceClaimTemplate `json:"items" pb:"2"`
}

// ResourceClaimTemplateSpec is what a claim that is made from the template gets.
type ResourceClaimTemplateSpec struct {
	// Labels and annotations of the claim; nothing else may be set.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What the claim asks for.
	Spec ResourceClaimSpec `json:"spec" pb:"2"`
}

// ResourceClaimStatus is what a claim has got.
type ResourceClaimStatus struct {
	// The devices that are allocated; unset if none are. Can be set and unset, but not changed.
	Allocation *AllocationResult `json:"allocation,omitempty" pb:"1"`
	// Who may use the devices: usually pods. While there is somebody the devices stay allocated.
	// Needs allocation. At most 256, and no new ones once the claim is being deleted.
	ReservedFor []ResourceClaimConsumerReference `json:"reservedFor,omitempty" pb:"2" list:"map,key=uid" patch:"merge,key=uid"`
	// How the devices are, as their drivers report it. Each is one of those allocated.
	Devices []AllocatedDeviceStatus `json:"devices,omitempty" pb:"4" list:"map,key=driver,key=device,key=pool,key=shareID"`
}

// ResourceClaimConsumerReference names an object in the namespace of the claim.
type ResourceClaimConsumerReference struct {
	// API group of the object; empty for the core group.
	APIGroup string `json:"apiGroup,omitempty" pb:"1"`
	// Resource of the object, such as 'pods'.
	Resource string `json:"resource" pb:"3"`
	// Name of the object.
	Name string `json:"name" pb:"4"`
	// UID of the object.
	UID meta.UID `json:"uid" pb:"5"`
}

// AllocatedDeviceStatus is the state of a device that is allocated to a claim.
type AllocatedDeviceStatus struct {
	// Name of the driver.
	Driver string `json:"driver" pb:"1"`
	// Name of the pool.
	Pool string `json:"pool" pb:"2"`
	// Name of the device.
	Device string `json:"device" pb:"3"`
	// Which part of the device, if it has been given to several claims.
	ShareID *string `json:"shareID,omitempty" pb:"7"`
	// Aspects of the state of the device. At most 8.
	Conditions []meta.Condition `json:"conditions" pb:"4" check:"optional" list:"map,key=type"`
	// What else the driver reports, an object of at most 10 KiB.
	Data *meta.RawExtension `json:"data,omitempty" pb:"5"`
	// What is known of the device in networks.
	NetworkData *NetworkDeviceData `json:"networkData,omitempty" pb:"6"`
}

// NetworkDeviceData describes a network device.
type NetworkDeviceData struct {
	// Name of the interface in the pod. At most 256 characters.
	InterfaceName string `json:"interfaceName,omitempty" pb:"1"`
	// Addresses of the interface, each with its prefix, such as '192.0.2.5/24'. At most 16.
	IPs []string `json:"ips,omitempty" pb:"2" list:"atomic"`
	// Address of the hardware, such as the MAC. At most 128 characters.
	HardwareAddress string `json:"hardwareAddress,omitempty" pb:"3"`
}
