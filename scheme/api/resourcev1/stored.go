package resourcev1

import (
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the versions in which objects may be stored although nobody is served in
// them. v1beta2 has the fields and defaults of v1. In v1beta1 a request for devices of one class
// has no struct of its own, and what a device has lies in one.
func addStored(s *scheme.Scheme) {
	add := func(version, kind string, obj meta.Typed) {
		s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: version, Kind: kind},
			GroupVersion.WithKind(kind).GroupKind(), obj)
	}
	add("v1beta2", "DeviceClass", &DeviceClass{})
	add("v1beta2", "ResourceClaim", &ResourceClaim{})
	add("v1beta2", "ResourceClaimTemplate", &ResourceClaimTemplate{})
	add("v1beta2", "ResourceSlice", &ResourceSlice{})
	add("v1beta1", "DeviceClass", &DeviceClass{})
	add("v1beta1", "ResourceClaim", &claimBeta{})
	add("v1beta1", "ResourceClaimTemplate", &templateBeta{})
	add("v1beta1", "ResourceSlice", &sliceBeta{})
	scheme.AddDefaulting(s, defaultRequestBeta)
	scheme.AddDefaulting(s, func(r *subRequestBeta) { defaultCount(&r.AllocationMode, &r.Count) })
	scheme.AddDefaulting(s, func(d *basicBeta) { defaultMappings(d.NodeAllocatableResourceMappings) })
	addConversions(s)
}

type claimBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            claimSpecBeta       `json:"spec" pb:"2"`
	Status          ResourceClaimStatus `json:"status,omitempty" pb:"3"`
}

type templateBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            templateSpecBeta `json:"spec" pb:"2"`
}

type templateSpecBeta struct {
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            claimSpecBeta `json:"spec" pb:"2"`
}

type claimSpecBeta struct {
	Devices deviceClaimBeta `json:"devices" pb:"1"`
}

type deviceClaimBeta struct {
	Requests    []requestBeta              `json:"requests" pb:"1"`
	Constraints []DeviceConstraint         `json:"constraints,omitempty" pb:"2"`
	Config      []DeviceClaimConfiguration `json:"config,omitempty" pb:"3"`
}

type requestBeta struct {
	Name            string                `json:"name" pb:"1"`
	DeviceClassName string                `json:"deviceClassName" pb:"2"`
	Selectors       []DeviceSelector      `json:"selectors,omitempty" pb:"3"`
	AllocationMode  DeviceAllocationMode  `json:"allocationMode,omitempty" pb:"4"`
	Count           int64                 `json:"count,omitempty" pb:"5"`
	AdminAccess     *bool                 `json:"adminAccess,omitempty" pb:"6"`
	FirstAvailable  []subRequestBeta      `json:"firstAvailable,omitempty" pb:"7"`
	Tolerations     []DeviceToleration    `json:"tolerations,omitempty" pb:"8"`
	Capacity        *CapacityRequirements `json:"capacity,omitempty" pb:"9"`
}

type subRequestBeta struct {
	Name            string                `json:"name" pb:"1"`
	DeviceClassName string                `json:"deviceClassName" pb:"2"`
	Selectors       []DeviceSelector      `json:"selectors,omitempty" pb:"3"`
	AllocationMode  DeviceAllocationMode  `json:"allocationMode,omitempty" pb:"4"`
	Count           int64                 `json:"count,omitempty" pb:"5"`
	Tolerations     []DeviceToleration    `json:"tolerations,omitempty" pb:"7"`
	Capacity        *CapacityRequirements `json:"capacity,omitempty" pb:"8"`
}

type sliceBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            sliceSpecBeta `json:"spec" pb:"2"`
}

type sliceSpecBeta struct {
	Driver                 string               `json:"driver" pb:"1"`
	Pool                   ResourcePool         `json:"pool" pb:"2"`
	NodeName               *string              `json:"nodeName,omitempty" pb:"3"`
	NodeSelector           *corev1.NodeSelector `json:"nodeSelector,omitempty" pb:"4"`
	AllNodes               *bool                `json:"allNodes,omitempty" pb:"5"`
	Devices                []deviceBeta         `json:"devices,omitempty" pb:"6"`
	PerDeviceNodeSelection *bool                `json:"perDeviceNodeSelection,omitempty" pb:"7"`
	SharedCounters         []CounterSet         `json:"sharedCounters,omitempty" pb:"8"`
}

type deviceBeta struct {
	Name  string     `json:"name" pb:"1"`
	Basic *basicBeta `json:"basic,omitempty" pb:"2"`
}

type basicBeta struct {
	Attributes                      map[QualifiedName]DeviceAttribute                      `json:"attributes,omitempty" pb:"1"`
	Capacity                        map[QualifiedName]DeviceCapacity                       `json:"capacity,omitempty" pb:"2"`
	ConsumesCounters                []DeviceCounterConsumption                             `json:"consumesCounters,omitempty" pb:"3"`
	NodeName                        *string                                                `json:"nodeName,omitempty" pb:"4"`
	NodeSelector                    *corev1.NodeSelector                                   `json:"nodeSelector,omitempty" pb:"5"`
	AllNodes                        *bool                                                  `json:"allNodes,omitempty" pb:"6"`
	Taints                          []DeviceTaint                                          `json:"taints,omitempty" pb:"7"`
	BindsToNode                     *bool                                                  `json:"bindsToNode,omitempty" pb:"8"`
	BindingConditions               []string                                               `json:"bindingConditions,omitempty" pb:"9"`
	BindingFailureConditions        []string                                               `json:"bindingFailureConditions,omitempty" pb:"10"`
	AllowMultipleAllocations        *bool                                                  `json:"allowMultipleAllocations,omitempty" pb:"11"`
	NodeAllocatableResourceMappings map[corev1.ResourceName]NodeAllocatableResourceMapping `json:"nodeAllocatableResourceMappings,omitempty" pb:"12"`
}

// defaultRequestBeta leaves requests alone that name no class: they are for the first of several
// that can be had.
func defaultRequestBeta(r *requestBeta) {
	if r.DeviceClassName != "" {
		defaultCount(&r.AllocationMode, &r.Count)
	}
}

func addConversions(s *scheme.Scheme) {
	scheme.AddConversion(s, func(in *requestBeta, out *DeviceRequest) error {
		if in.hasClass() {
			out.Exactly = &ExactDeviceRequest{}
			if err := scheme.ConvertFields(s, in, out.Exactly); err != nil {
				return err
			}
		}
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *requestBeta, out *ExactDeviceRequest) error {
		return scheme.ConvertFields(s, in, out)
	})
	scheme.AddConversion(s, func(in *sliceSpecBeta, out *ResourceSliceSpec) error {
		err := scheme.ConvertFields(s, in, out)
		// The version has plain values, which cannot tell these from unset.
		if scheme.OrZero(out.NodeName) == "" {
			out.NodeName = nil
		}
		if !scheme.OrZero(out.AllNodes) {
			out.AllNodes = nil
		}
		return err
	})
	scheme.AddConversion(s, func(in *deviceBeta, out *Device) error {
		out.Name = in.Name
		if in.Basic == nil {
			return nil
		}
		return scheme.ConvertFields(s, in.Basic, out)
	})
	scheme.AddConversion(s, func(in *basicBeta, out *Device) error { return scheme.ConvertFields(s, in, out) })
}

// hasClass reports whether a request says anything of what is asked for, beside the choices in
// firstAvailable.
func (r *requestBeta) hasClass() bool {
	return r.DeviceClassName != "" || r.Selectors != nil || r.AllocationMode != "" || r.Count != 0 ||
		r.AdminAccess != nil || r.Tolerations != nil || r.Capacity != nil
}
