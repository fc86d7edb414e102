package resource

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// The validation of a device in a ResourceSlice: its attributes, taints, counters, nodes, binding
// conditions, and what it takes from its node. slice.go calls deviceCheck.device for each device,
// and checkCounterSet for each set of shared counters.

// maxAttribute is the bound of text and version attributes, in bytes.
const maxAttribute = 64

// deviceCheck checks the devices of one slice. spec is the slice's spec; old is the slice before an
// update, or nil.
type deviceCheck struct {
	spec *resourcev1.ResourceSliceSpec
	old  *resourcev1.ResourceSlice
}

// device checks a device. Taints that the update does not change are not checked again.
func (c deviceCheck) device(p *field.Path, d *resourcev1.Device) field.ErrorList {
	errs := check.DNSLabel(p.Child("name"), d.Name)
	if n := len(d.Attributes) + len(d.Capacity); n > maxProperties {
		errs = append(errs, field.Invalid(p, n,
			fmt.Sprintf("the total number of attributes and capacities must not exceed %d", maxProperties)))
	}
	if n := attributeValues(d); n > maxAttributeValues {
		errs = append(errs, field.Invalid(p, n,
			fmt.Sprintf("the total number of attribute values must not exceed %d", maxAttributeValues)))
	}
	errs = append(errs, checkMap(p.Child("attributes"), d.Attributes, checkQualifiedName, checkAttribute)...)
	capacity := checkWholeCapacity
	if scheme.OrZero(d.AllowMultipleAllocations) {
		capacity = checkSharedCapacity
	}
	errs = append(errs, checkMap(p.Child("capacity"), d.Capacity, checkQualifiedName, capacity)...)
	if was := c.oldDevice(d.Name); was == nil || !scheme.Equal(&d.Taints, &was.Taints) {
		errs = append(errs, checkBounded(p.Child("taints"), d.Taints, maxTaints, checkTaint)...)
	}
	errs = append(errs,
		checkDistinct(p.Child("consumesCounters"), d.ConsumesCounters, maxConsumptions, checkConsumption,
			func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet })...)
	errs = append(errs, c.nodes(p, d)...)
	errs = append(errs, checkBinding(p, d.BindingConditions, d.BindingFailureConditions)...)
	return append(errs, checkMappings(p.Child("nodeAllocatableResourceMappings"), d)...)
}

// oldDevice returns the device of that name in the old slice, or nil.
func (c deviceCheck) oldDevice(name string) *resourcev1.Device {
	if c.old == nil {
		return nil
	}
	devices := c.old.Spec.Devices
	i := slices.IndexFunc(devices, func(d resourcev1.Device) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &devices[i]
}

// nodes checks the fields that say which nodes can use the device. They are set if and only if the
// slice leaves this to its devices (perDeviceNodeSelection).
func (c deviceCheck) nodes(p *field.Path, d *resourcev1.Device) field.ErrorList {
	if !scheme.OrZero(c.spec.PerDeviceNodeSelection) {
		if d.NodeName == nil && d.NodeSelector == nil && d.AllNodes == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(p, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if "+
			"`perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true " +
		"in the ResourceSlice spec"
	n := nodeCheck{emptyName: "must not be empty"}
	n.name(p, d.NodeName)
	n.selector(p, d.NodeSelector)
	n.flag(p, "allNodes", d.AllNodes)
	switch len(n.set) {
	case 0:
		n.errs = append(n.errs, field.Required(p, one))
	case 1:
	default:
		n.errs = append(n.errs, field.Invalid(p, n.fields(), one))
	}
	return n.errs
}

// attributeValues returns the number of values of all attributes. An attribute without a list
// counts as one.
func attributeValues(d *resourcev1.Device) int {
	n := 0
	for _, a := range d.Attributes {
		n += max(1, len(a.IntValues)+len(a.BoolValues)+len(a.StringValues)+len(a.VersionValues))
	}
	return n
}

// checkAttribute checks an attribute: exactly one of its fields is set, a value or a list of
// values.
func checkAttribute(p *field.Path, a resourcev1.DeviceAttribute) field.ErrorList {
	var errs field.ErrorList
	if a.StringValue != nil {
		errs = append(errs, checkText(p.Child("string"), a.StringValue)...)
	}
	if a.VersionValue != nil {
		errs = append(errs, checkVersion(p.Child("version"), a.VersionValue)...)
	}
	errs = append(errs, checkValues(p.Child("bools"), a.BoolValues, nil)...)
	errs = append(errs, checkValues(p.Child("ints"), a.IntValues, nil)...)
	errs = append(errs, checkValues(p.Child("strings"), a.StringValues, checkText)...)
	errs = append(errs, checkValues(p.Child("versions"), a.VersionValues, checkVersion)...)
	set := 0
	for _, isSet := range []bool{
		a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if isSet {
			set++
		}
	}
	const one = "exactly one value must be specified"
	switch set {
	case 0:
		errs = append(errs, field.Invalid(p, "", one))
	case 1:
	default:
		errs = append(errs, field.Invalid(p, govalue.JSON(a), one))
	}
	return errs
}

// checkValues checks a list of values. The list may be nil, but not empty. A nil rule accepts every
// value.
func checkValues[T any](p *field.Path, list []T, rule func(*field.Path, *T) field.ErrorList) field.ErrorList {
	switch {
	case list != nil && len(list) == 0:
		return field.ErrorList{field.Invalid(p, list, "must not be empty if specified")}
	case rule == nil:
		return nil
	}
	return checkBounded(p, list, len(list), rule)
}

// checkText checks the length of a text.
func checkText(p *field.Path, text *string) field.ErrorList {
	if len(*text) > maxAttribute {
		return field.ErrorList{field.TooLong(p, *text, maxAttribute)}
	}
	return nil
}

// versions matches a version of semver.org 2.0.0: three numbers, then optionally a pre-release and
// build metadata.
var versions = names.Pattern(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

// checkVersion checks a version and its length.
func checkVersion(p *field.Path, text *string) field.ErrorList {
	var errs field.ErrorList
	if !versions().MatchString(*text) {
		errs = append(errs, field.Invalid(p, *text, "must be a string compatible with semver.org spec 2.0.0"))
	}
	return append(errs, checkText(p, text)...)
}

// checkTaint checks a taint of a device.
func checkTaint(p *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	errs := check.QualifiedName(p.Child("key"), t.Key)
	errs = append(errs, check.Invalid(p.Child("value"), t.Value, names.IsValidLabelValue(t.Value))...)
	return append(errs, check.OneOf(p.Child("effect"), t.Effect, taintEffects...)...)
}

// checkCounterSet checks a set of counters that several devices of the pool share, such as the
// memory of one GPU.
func checkCounterSet(p *field.Path, c *resourcev1.CounterSet) field.ErrorList {
	errs := check.Needed(p.Child("name"), c.Name, check.DNSLabel)
	return append(errs, checkCounters(p.Child("counters"), c.Counters)...)
}

// checkConsumption checks how much a device takes from the counters of a set.
func checkConsumption(p *field.Path, c *resourcev1.DeviceCounterConsumption) field.ErrorList {
	errs := check.Needed(p.Child("counterSet"), c.CounterSet, check.DNSLabel)
	return append(errs, checkCounters(p.Child("counters"), c.Counters)...)
}

// checkCounters checks the names of counters. There is at least one; every amount is valid.
func checkCounters(p *field.Path, counters map[string]resourcev1.Counter) field.ErrorList {
	switch n := len(counters); {
	case n == 0:
		return field.ErrorList{field.Required(p, "")}
	case n > maxCounters:
		return field.ErrorList{field.TooMany(p, n, maxCounters)}
	}
	var errs field.ErrorList
	for name := range field.Entries(&errs, counters) {
		errs = append(errs, check.DNSLabel(p, name)...)
	}
	return errs
}

// checkBinding checks the conditions for which the scheduler waits before it binds a pod
// (KEP-5007). A device has conditions for success and for failure, or neither; no condition is
// both.
func checkBinding(p *field.Path, conditions, failures []string) field.ErrorList {
	at, failed := p.Child("bindingConditions"), p.Child("bindingFailureConditions")
	label := func(p *field.Path, key *string) field.ErrorList { return check.QualifiedName(p, *key) }
	errs := checkBounded(at, conditions, maxBinding, label)
	errs = append(errs, checkBounded(failed, failures, maxBinding, label)...)
	errs = append(errs, checkRepeated(at, conditions, textKey)...)
	wanted, seen := make(map[string]bool, len(conditions)), check.Duplicates{}
	for _, c := range conditions {
		wanted[c] = true
	}
	for i, c := range field.Each(&errs, failures) {
		if !seen.Add(*c) {
			errs = append(errs, field.Duplicate(failed.Index(i), *c))
		}
		if wanted[*c] {
			errs = append(errs,
				field.Invalid(failed.Index(i), *c, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	switch {
	case len(conditions) == 0 && len(failures) > 0:
		errs = append(errs,
			field.Invalid(at, conditions, "bindingConditions are required to use bindingFailureConditions"))
	case len(failures) == 0 && len(conditions) > 0:
		errs = append(errs,
			field.Invalid(failed, failures, "bindingFailureConditions are required to use bindingConditions"))
	}
	return errs
}

// checkMappings checks how much a device takes from the allocatable resources of its node, such as
// CPU or memory.
func checkMappings(p *field.Path, d *resourcev1.Device) field.ErrorList {
	var errs field.ErrorList
	for name, m := range field.Entries(&errs, d.NodeAllocatableResourceMappings) {
		at := p.Key(string(name))
		if !corev1.IsNativeResource(name) {
			errs = append(errs, field.Invalid(at, name, "must be a node allocatable resource name"))
		}
		if m.AllocationMultiplier == nil && m.CapacityKey == nil {
			errs = append(errs,
				field.Invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set"))
		}
		if q := m.AllocationMultiplier; q != nil && q.Sign() <= 0 {
			errs = append(errs, field.Invalid(at.Child("allocationMultiplier"), q.String(), "must be positive"))
		}
		if m.CapacityKey != nil {
			errs = append(errs, checkCapacityKey(at.Child("capacityKey"), d, *m.CapacityKey)...)
		}
	}
	return errs
}

// checkCapacityKey checks that the device has a capacity of that name.
func checkCapacityKey(p *field.Path, d *resourcev1.Device, key resourcev1.QualifiedName) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Invalid(p, "", "capacityKey must not be an empty string")}
	}
	if _, ok := d.Capacity[key]; !ok {
		return field.ErrorList{field.NotFound(p, key)}
	}
	return nil
}
