package resourcev1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ResourceSlice lists devices of a pool, which its driver keeps up to date. A pool may need several
// slices.
type ResourceSlice struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// The devices. A change of it raises metadata.generation.
	Spec ResourceSliceSpec `json:"spec" pb:"2"`
}

// ResourceSliceList is a list of slices.
type ResourceSliceList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []ResourceSlice `json:"items" pb:"2"`
}

// ResourceSliceSpec lists devices and says which nodes can use them: one of nodeName, nodeSelector,
// allNodes and perDeviceNodeSelection is set.
type ResourceSliceSpec struct {
	// Name of the driver that publishes the slice, a domain of at most 63 characters, best in lower
	// case. Cannot be changed.
	Driver string `json:"driver" pb:"1"`
	// The pool that the devices belong to.
	Pool ResourcePool `json:"pool" pb:"2"`
	// The only node that can use the devices. Cannot be changed.
	NodeName *string `json:"nodeName,omitempty" pb:"3"`
	// The nodes that can use the devices; exactly one term.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" pb:"4"`
	// True if all nodes can use the devices.
	AllNodes *bool `json:"allNodes,omitempty" pb:"5"`
	// The devices. At most 128, or 64 if one of them has taints, uses counters or has lists of
	// attributes. Not together with sharedCounters.
	Devices []Device `json:"devices,omitempty" pb:"6" list:"atomic"`
	// True if each device says by itself which nodes can use it.
	PerDeviceNodeSelection *bool `json:"perDeviceNodeSelection,omitempty" pb:"7"`
	// What the devices of the pool share. At most 8 sets, of unique names.
	SharedCounters []CounterSet `json:"sharedCounters,omitempty" pb:"8" list:"atomic"`
}

// ResourcePool names a pool. It also gives the generation of the description of the pool, and the
// number of slices that make up the description.
type ResourcePool struct {
	// Name of the pool, unique for the driver: one or more DNS subdomains separated by slashes,
	// often that of a node. At most 253 characters. Cannot be changed.
	Name string `json:"name" pb:"1"`
	// Which description of the pool the slice is a part of, from 0 on. A higher number replaces all
	// slices of lower ones.
	Generation int64 `json:"generation" pb:"2"`
	// How many slices describe the pool at this generation, at least 1. Until all are there the
	// pool is not complete.
	ResourceSliceCount int64 `json:"resourceSliceCount" pb:"3"`
}

// CounterSet holds amounts, by name, that devices share.
type CounterSet struct {
	// Name of the set, a DNS label.
	Name string `json:"name" pb:"1"`
	// How much there is, by DNS label. At least 1, at most 32.
	Counters map[string]Counter `json:"counters,omitempty" pb:"2" check:"listed"`
}

// Counter is an amount.
type Counter struct {
	// The amount.
	Value meta.Quantity `json:"value" pb:"1"`
}

// Device is something that can be allocated as a whole or, if it says so, in parts.
type Device struct {
	// Name of the device, unique in its pool: a DNS label.
	Name string `json:"name" pb:"1"`
	// What the device is like, by qualified name; those without a domain are the driver's. At most
	// 32 together with capacity.
	Attributes map[QualifiedName]DeviceAttribute `json:"attributes,omitempty" pb:"2"`
	// What the device has, by qualified name; those without a domain are the driver's. At most 32
	// together with attributes.
	Capacity map[QualifiedName]DeviceCapacity `json:"capacity,omitempty" pb:"3"`
	// What the device takes from counter sets while it is allocated. At most 2, of different sets.
	ConsumesCounters []DeviceCounterConsumption `json:"consumesCounters,omitempty" pb:"4" list:"atomic"`
	// The only node that can use the device; only with perDeviceNodeSelection, as nodeSelector and
	// allNodes.
	NodeName *string `json:"nodeName,omitempty" pb:"5"`
	// The nodes that can use the device.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" pb:"6"`
	// True if all nodes can use the device.
	AllNodes *bool `json:"allNodes,omitempty" pb:"7"`
	// What claims have to tolerate to be given the device. At most 16.
	Taints []DeviceTaint `json:"taints,omitempty" pb:"8" list:"atomic"`
	// Whether a claim that is given the device becomes bound to the node that the scheduler chose.
	BindsToNode *bool `json:"bindsToNode,omitempty" pb:"9"`
	// Conditions in the status of the claim that must all be True before a pod is bound. At most 4,
	// each a label key; needs bindingFailureConditions.
	BindingConditions []string `json:"bindingConditions,omitempty" pb:"10" list:"atomic"`
	// Conditions in the status of the claim of which none may be True, or else binding has failed.
	// At most 4, each a label key; needs bindingConditions.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" pb:"11" list:"atomic"`
	// Whether the device can be given to several claims at once, each of which takes a part of its
	// capacity.
	AllowMultipleAllocations *bool `json:"allowMultipleAllocations,omitempty" pb:"12"`
	// What an allocation takes from resources that the node has anyway, such as cpu.
	NodeAllocatableResourceMappings map[corev1.ResourceName]NodeAllocatableResourceMapping `json:"nodeAllocatableResourceMappings,omitempty" pb:"13"`
}

// QualifiedName is the name of an attribute or a capacity: an identifier in C of at most 32
// characters, after a domain of at most 63 and a slash if it is not the driver's own.
type QualifiedName string

// FullyQualifiedName is a QualifiedName with a domain.
type FullyQualifiedName string

// DeviceAttribute is a value of one type: exactly one field is set.
type DeviceAttribute struct {
	// A whole number.
	IntValue *int64 `json:"int,omitempty" pb:"2"`
	// True or false.
	BoolValue *bool `json:"bool,omitempty" pb:"3"`
	// A text of at most 64 characters.
	StringValue *string `json:"string,omitempty" pb:"4"`
	// A version as semver.org 2.0.0 has it, of at most 64 characters.
	VersionValue *string `json:"version,omitempty" pb:"5"`
	// Whole numbers; not empty.
	IntValues []int64 `json:"ints,omitempty" pb:"6" list:"atomic"`
	// Several of true and false; not empty.
	BoolValues []bool `json:"bools,omitempty" pb:"7" list:"atomic"`
	// Texts of at most 64 characters; not empty.
	StringValues []string `json:"strings,omitempty" pb:"8" list:"atomic"`
	// Versions of at most 64 characters; not empty.
	VersionValues []string `json:"versions,omitempty" pb:"9" list:"atomic"`
}

// DeviceCapacity is how much of something a device has.
type DeviceCapacity struct {
	// The amount.
	Value meta.Quantity `json:"value" pb:"1"`
	// How much of it claims can ask for, if the device can be given to several at once. The default
	// is any amount, and all of it for those who do not ask.
	RequestPolicy *CapacityRequestPolicy `json:"requestPolicy,omitempty" pb:"2"`
}

// CapacityRequestPolicy tells how much of a capacity can be asked for. At most one of validValues
// and validRange is set.
type CapacityRequestPolicy struct {
	// What claims take that do not ask. Must be valid, and is required with validValues or
	// validRange.
	Default *meta.Quantity `json:"default" pb:"1" check:"optional"`
	// Amounts that can be asked for, in ascending order. At most 10; claims take the next higher
	// one.
	ValidValues []meta.Quantity `json:"validValues,omitempty" pb:"3" list:"atomic"`
	// Range of amounts that can be asked for.
	ValidRange *CapacityRequestPolicyRange `json:"validRange,omitempty" pb:"4"`
}

// CapacityRequestPolicyRange is a range of amounts.
type CapacityRequestPolicyRange struct {
	// The smallest amount.
	Min *meta.Quantity `json:"min,omitempty" pb:"1" check:"listed"`
	// The greatest amount. The default is the capacity.
	Max *meta.Quantity `json:"max,omitempty" pb:"2"`
	// Amounts are min plus a multiple of this; claims take the next higher one.
	Step *meta.Quantity `json:"step,omitempty" pb:"3"`
}

// DeviceCounterConsumption is what a device takes from a counter set.
type DeviceCounterConsumption struct {
	// The set, by its name in the slice's pool.
	CounterSet string `json:"counterSet" pb:"1"`
	// What is taken, by name of the counter. At least 1, at most 32.
	Counters map[string]Counter `json:"counters,omitempty" pb:"2" check:"listed"`
}

// NodeAllocatableResourceMapping tells how much of a resource of the node an allocation takes.
type NodeAllocatableResourceMapping struct {
	// Capacity of the device that is counted. The default is the device itself, as one.
	CapacityKey *QualifiedName `json:"capacityKey,omitempty" pb:"1"`
	// What a unit of that takes from the node. The default is 1.
	AllocationMultiplier *meta.Quantity `json:"allocationMultiplier,omitempty" pb:"2"`
}

// DeviceTaint keeps claims that do not tolerate it off a device.
type DeviceTaint struct {
	// Key of the taint, in the form of a label's.
	Key string `json:"key" pb:"1"`
	// Value that belongs to the key, in the form of a label's.
	Value string `json:"value,omitempty" pb:"2"`
	// What becomes of claims without a toleration, and of their pods: NoSchedule keeps them off the
	// device, NoExecute evicts those that use it, too, and None does nothing.
	Effect DeviceTaintEffect `json:"effect" pb:"3" enum:"NoExecute,NoSchedule,None"`
	// When the taint was added; now by default.
	TimeAdded *meta.Time `json:"timeAdded,omitempty" pb:"4"`
}

// DeviceTaintEffect is what a taint does.
type DeviceTaintEffect string

// The effects of taints.
const (
	// DeviceTaintEffectNone: nothing, it only informs.
	DeviceTaintEffectNone DeviceTaintEffect = "None"
	// DeviceTaintEffectNoSchedule: no new pods with claims that use the device.
	DeviceTaintEffectNoSchedule DeviceTaintEffect = "NoSchedule"
	// DeviceTaintEffectNoExecute: also those that run are evicted.
	DeviceTaintEffectNoExecute DeviceTaintEffect = "NoExecute"
)
