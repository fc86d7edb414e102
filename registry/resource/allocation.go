package resource

import (
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// How long texts about network devices may be, in bytes.
const (
	maxInterface = 256
	maxHardware  = 128
)

// device is what identifies a device that is allocated, or a part of it. Messages show it as it is.
type device struct{ Driver, Pool, Device, ShareID string }

func allocated(r *resourcev1.DeviceRequestAllocationResult) device {
	return device{Driver: r.Driver, Pool: r.Pool, Device: r.Device, ShareID: string(scheme.OrZero(r.ShareID))}
}

func reported(s *resourcev1.AllocatedDeviceStatus) device {
	return device{Driver: s.Driver, Pool: s.Pool, Device: s.Device, ShareID: scheme.OrZero(s.ShareID)}
}

// devicesOf are the devices that are allocated; there are none without an allocation.
func devicesOf(a *resourcev1.AllocationResult) map[device]bool {
	if a == nil {
		return nil
	}
	devices := make(map[device]bool, len(a.Devices.Results))
	for i := range a.Devices.Results {
		devices[allocated(&a.Devices.Results[i])] = true
	}
	return devices
}

// dropDeallocated drops what is reported of devices that the claim has no longer, for clients who
// do not know that they should.
func dropDeallocated(s, old *resourcev1.ResourceClaimStatus) {
	before, now := devicesOf(old.Allocation), devicesOf(s.Allocation)
	s.Devices = slices.DeleteFunc(s.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		id := reported(&d)
		return before[id] && !now[id]
	})
	if len(s.Devices) == 0 {
		s.Devices = nil
	}
}

func checkClaimStatus(c, old *resourcev1.ResourceClaim) field.ErrorList {
	s, p := &c.Status, field.NewPath("status")
	errs := distinct(p.Child("reservedFor"), s.ReservedFor, maxReservations, checkConsumer,
		func(r *resourcev1.ResourceClaimConsumerReference) meta.UID { return r.UID })
	known := devicesOf(s.Allocation)
	report := func(p *field.Path, d *resourcev1.AllocatedDeviceStatus) field.ErrorList {
		return checkReport(p, d, known)
	}
	errs = append(errs, distinct(p.Child("devices"), s.Devices, len(s.Devices), report, reported)...)
	errs = append(errs, checkReservations(p.Child("reservedFor"), c, old)...)
	switch at := p.Child("allocation"); {
	case s.Allocation == nil:
		return errs
	case old.Status.Allocation != nil:
		return append(errs, check.Immutable(at, s.Allocation, old.Status.Allocation)...)
	default:
		return append(errs, checkAllocation(at, s.Allocation, requestsOf(&c.Spec.Devices))...)
	}
}

func checkConsumer(p *field.Path, r *resourcev1.ResourceClaimConsumerReference) field.ErrorList {
	errs := check.Required(p.Child("resource"), r.Resource)
	errs = append(errs, check.Required(p.Child("name"), r.Name)...)
	return append(errs, check.Required(p.Child("uid"), string(r.UID))...)
}

// checkReservations checks who the devices are reserved for: nobody if there are none, nobody new
// if the claim is being deleted.
func checkReservations(p *field.Path, c, old *resourcev1.ResourceClaim) field.ErrorList {
	isNew := func(r resourcev1.ResourceClaimConsumerReference) bool {
		return !slices.Contains(old.Status.ReservedFor, r)
	}
	switch list := c.Status.ReservedFor; {
	case len(list) == 0:
		return nil
	case c.Status.Allocation == nil:
		return field.ErrorList{field.Forbidden(p, "may not be specified when `allocated` is not set")}
	case c.DeletionTimestamp != nil && slices.ContainsFunc(list, isNew):
		return field.ErrorList{field.Forbidden(p,
			"new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")}
	}
	return nil
}

func checkAllocation(p *field.Path, a *resourcev1.AllocationResult, known requests) field.ErrorList {
	errs := bounded(p.Child("devices", "results"), a.Devices.Results, maxResults, known.result)
	errs = append(errs, bounded(p.Child("devices", "config"), a.Devices.Config, 2*maxConfigs, known.applied)...)
	if a.NodeSelector != nil {
		errs = append(errs, podspec.NodeSelector(p.Child("nodeSelector"), a.NodeSelector)...)
	}
	return errs
}

func (k requests) result(p *field.Path, r *resourcev1.DeviceRequestAllocationResult) field.ErrorList {
	errs := k.reference(p.Child("request"), &r.Request)
	errs = append(errs, podspec.CSIDriverName(p.Child("driver"), r.Driver)...)
	errs = append(errs, checkPool(p.Child("pool"), r.Pool)...)
	errs = append(errs, check.DNSLabel(p.Child("device"), r.Device)...)
	errs = append(errs, checkBinding(p, r.BindingConditions, r.BindingFailureConditions)...)
	if r.ShareID != nil {
		errs = append(errs, checkUUID(p.Child("shareID"), string(*r.ShareID))...)
	}
	return errs
}

func (k requests) applied(p *field.Path, c *resourcev1.DeviceAllocationConfiguration) field.ErrorList {
	errs := check.OneOf(p.Child("source"), c.Source, resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
	errs = append(errs, k.references(p.Child("requests"), c.Requests)...)
	return append(errs, checkConfiguration(p, &c.DeviceConfiguration, false)...)
}

// checkReport checks what a driver reports of a device.
func checkReport(p *field.Path, d *resourcev1.AllocatedDeviceStatus, known map[device]bool) field.ErrorList {
	errs := podspec.CSIDriverName(p.Child("driver"), d.Driver)
	errs = append(errs, checkPool(p.Child("pool"), d.Pool)...)
	errs = append(errs, check.DNSLabel(p.Child("device"), d.Device)...)
	if d.ShareID != nil {
		errs = append(errs, checkUUID(p.Child("shareID"), *d.ShareID)...)
	}
	if id := reported(d); !known[id] {
		errs = append(errs, field.Invalid(p, id, "must be an allocated device in the claim"))
	}
	if n := len(d.Conditions); n > maxConditions {
		errs = append(errs, field.TooMany(p.Child("conditions"), n, maxConditions))
	}
	errs = append(errs, check.Conditions(p.Child("conditions"), d.Conditions)...)
	if d.Data != nil && len(d.Data.Raw) > 0 {
		errs = append(errs, checkObject(p.Child("data"), *d.Data, false)...)
	}
	if d.NetworkData != nil {
		errs = append(errs, checkNetwork(p.Child("networkData"), d.NetworkData)...)
	}
	return errs
}

func checkNetwork(p *field.Path, d *resourcev1.NetworkDeviceData) field.ErrorList {
	var errs field.ErrorList
	if len(d.InterfaceName) > maxInterface {
		errs = append(errs, field.TooLong(p.Child("interfaceName"), d.InterfaceName, maxInterface))
	}
	if len(d.HardwareAddress) > maxHardware {
		errs = append(errs, field.TooLong(p.Child("hardwareAddress"), d.HardwareAddress, maxHardware))
	}
	return append(errs, distinct(p.Child("ips"), d.IPs, maxAddresses, checkInterface, itself)...)
}
