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

// The status of a claim: its allocation, which the scheduler writes; the pods for which the devices
// are reserved; and what drivers report of the devices. claim.go calls dropDeallocated and
// checkClaimStatus.

// Bounds of texts about network devices, in bytes.
const (
	maxInterface = 256
	maxHardware  = 128
)

// device identifies an allocated device, or an allocated share of one. It is the key for comparing
// results with reports. Errors print it, so its fields have the names that Kubernetes prints.
type device struct{ Driver, Pool, Device, ShareID string }

// deviceOfResult returns the device of a result of an allocation.
func deviceOfResult(r *resourcev1.DeviceRequestAllocationResult) device {
	return device{Driver: r.Driver, Pool: r.Pool, Device: r.Device, ShareID: string(scheme.OrZero(r.ShareID))}
}

// deviceOfReport returns the device of a driver's report.
func deviceOfReport(s *resourcev1.AllocatedDeviceStatus) device {
	return device{Driver: s.Driver, Pool: s.Pool, Device: s.Device, ShareID: scheme.OrZero(s.ShareID)}
}

// devicesOf returns the devices of an allocation, or nil without one.
func devicesOf(a *resourcev1.AllocationResult) map[device]bool {
	if a == nil {
		return nil
	}
	devices := make(map[device]bool, len(a.Devices.Results))
	for i := range a.Devices.Results {
		devices[deviceOfResult(&a.Devices.Results[i])] = true
	}
	return devices
}

// dropDeallocated drops the reports about devices that this update deallocates. A client that
// clears the allocation need not know that there are reports; without this its update would be
// invalid.
func dropDeallocated(s, old *resourcev1.ResourceClaimStatus) {
	before, now := devicesOf(old.Allocation), devicesOf(s.Allocation)
	s.Devices = slices.DeleteFunc(s.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		id := deviceOfReport(&d)
		return before[id] && !now[id]
	})
	if len(s.Devices) == 0 {
		s.Devices = nil
	}
}

// checkClaimStatus validates the status of a claim. An allocation that was there before is not
// checked again, only that it is the same.
func checkClaimStatus(c, old *resourcev1.ResourceClaim) field.ErrorList {
	s, p := &c.Status, field.NewPath("status")
	errs := checkDistinct(p.Child("reservedFor"), s.ReservedFor, maxReservations, checkConsumer,
		func(r *resourcev1.ResourceClaimConsumerReference) meta.UID { return r.UID })
	devices := devicesOf(s.Allocation)
	report := func(p *field.Path, d *resourcev1.AllocatedDeviceStatus) field.ErrorList {
		return checkReport(p, d, devices)
	}
	errs = append(errs, checkDistinct(p.Child("devices"), s.Devices, len(s.Devices), report, deviceOfReport)...)
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

// checkConsumer checks a reference to the consumer of a claim, usually a pod.
func checkConsumer(p *field.Path, r *resourcev1.ResourceClaimConsumerReference) field.ErrorList {
	errs := check.Required(p.Child("resource"), r.Resource)
	errs = append(errs, check.Required(p.Child("name"), r.Name)...)
	return append(errs, check.Required(p.Child("uid"), string(r.UID))...)
}

// checkReservations checks whether reservations are allowed: not without an allocation, and no new
// ones for a claim that is being deleted.
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

// checkAllocation checks a new allocation. Its configuration may come from the claim and from the
// classes, hence twice the bound.
func checkAllocation(p *field.Path, a *resourcev1.AllocationResult, asked requests) field.ErrorList {
	errs := checkBounded(p.Child("devices", "results"), a.Devices.Results, maxResults, asked.result)
	errs = append(errs, checkBounded(p.Child("devices", "config"), a.Devices.Config, 2*maxConfigs, asked.applied)...)
	if a.NodeSelector != nil {
		errs = append(errs, podspec.NodeSelector(p.Child("nodeSelector"), a.NodeSelector)...)
	}
	return errs
}

// result checks a device that was allocated for a request.
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

// applied checks configuration that was copied into the allocation from the claim or from a class.
func (k requests) applied(p *field.Path, c *resourcev1.DeviceAllocationConfiguration) field.ErrorList {
	errs := check.OneOf(p.Child("source"), c.Source, resourcev1.AllocationConfigSourceClaim,
		resourcev1.AllocationConfigSourceClass)
	errs = append(errs, k.references(p.Child("requests"), c.Requests)...)
	return append(errs, checkConfiguration(p, &c.DeviceConfiguration, false)...)
}

// checkReport checks a driver's report about a device, which must be among the allocated devices.
func checkReport(p *field.Path, d *resourcev1.AllocatedDeviceStatus, devices map[device]bool) field.ErrorList {
	errs := podspec.CSIDriverName(p.Child("driver"), d.Driver)
	errs = append(errs, checkPool(p.Child("pool"), d.Pool)...)
	errs = append(errs, check.DNSLabel(p.Child("device"), d.Device)...)
	if d.ShareID != nil {
		errs = append(errs, checkUUID(p.Child("shareID"), *d.ShareID)...)
	}
	if id := deviceOfReport(d); !devices[id] {
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

// checkNetwork checks a report about a network device.
func checkNetwork(p *field.Path, d *resourcev1.NetworkDeviceData) field.ErrorList {
	var errs field.ErrorList
	if len(d.InterfaceName) > maxInterface {
		errs = append(errs, field.TooLong(p.Child("interfaceName"), d.InterfaceName, maxInterface))
	}
	if len(d.HardwareAddress) > maxHardware {
		errs = append(errs, field.TooLong(p.Child("hardwareAddress"), d.HardwareAddress, maxHardware))
	}
	return append(errs, checkDistinct(p.Child("ips"), d.IPs, maxAddresses, checkInterface, textKey)...)
}
