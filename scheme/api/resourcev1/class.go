package resourcev1

import "github.com/coracle-project/coracle/scheme/meta"

// DeviceClass names devices that are alike, and says how they are set up. Administrators make
// classes, and claims name them.
type DeviceClass struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which devices, and how they are set up. A change of it raises metadata.generation.
	Spec DeviceClassSpec `json:"spec" pb:"2"`
}

// DeviceClassList is a list of classes.
type DeviceClassList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []DeviceClass `json:"items" pb:"2"`
}

// DeviceClassSpec selects the devices of a class and says how they are set up.
type DeviceClassSpec struct {
	// Conditions that devices of the class meet, all of them. At most 32.
	Selectors []DeviceSelector `json:"selectors,omitempty" pb:"1" list:"atomic"`
	// How devices of the class are set up, before what the claim says. At most 32.
	Config []DeviceClassConfiguration `json:"config,omitempty" pb:"2" list:"atomic"`
	// Name of an extended resource, such as 'example.com/gpu', by which containers can ask for
	// devices of the class, too.
	ExtendedResourceName *string `json:"extendedResourceName,omitempty" pb:"4"`
}

// DeviceClassConfiguration is how devices of a class are set up.
type DeviceClassConfiguration struct {
	// The configuration.
	DeviceConfiguration `json:",inline" pb:"1"`
}

// DeviceConfiguration is how devices are set up. Exactly one field is set.
type DeviceConfiguration struct {
	// Parameters that only the driver understands.
	Opaque *OpaqueDeviceConfiguration `json:"opaque,omitempty" pb:"1"`
}

// OpaqueDeviceConfiguration is configuration that only a driver understands.
type OpaqueDeviceConfiguration struct {
	// Name of the driver that the parameters are for, a domain of at most 63 characters.
	Driver string `json:"driver" pb:"1"`
	// The parameters, an object that should say its kind and apiVersion. At most 10 KiB.
	Parameters meta.RawExtension `json:"parameters" pb:"2"`
}

// DeviceSelector is a condition that devices meet. Exactly one field is set.
type DeviceSelector struct {
	// The condition as an expression.
	CEL *CELDeviceSelector `json:"cel,omitempty" pb:"1"`
}

// CELDeviceSelector is a condition as an expression.
type CELDeviceSelector struct {
	// CEL expression that is true for devices that meet the condition. It knows device, with
	// driver, attributes and capacity, such as 'device.attributes["driver.example.com"].model ==
	// "a"'. If it fails for a device, allocation fails. At most 10 KiB, and not too costly.
	Expression string `json:"expression" pb:"1"`
}
