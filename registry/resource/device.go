package resource

import (
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// maxAttribute is how long texts and versions may be, in bytes.
const maxAttribute = 64

// deviceCheck checks the devices of a slice. There may be no old slice.
type deviceCheck struct {
	spec *resourcev1.ResourceSliceSpec
	old  *resourcev1.ResourceSlice
}

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
	errs = append(errs, named(p.Child("attributes"), d.Attributes, checkQualifiedName, checkAttribute)...)
	capacity := checkWholeCapacity
	if scheme.OrZero(d.AllowMultipleAllocations) {
		capacity = checkSharedCapacity
	}
	errs = append(errs, named(p.Child("capacity"), d.Capacity, checkQualifiedName, capacity)...)
	if was := c.oldDevice(d.Name); was == nil || !scheme.Equal(&d.Taints, &was.Taints) {
		errs = append(errs, bounded(p.Child("taints"), d.Taints, maxTaints, checkTaint)...)
	}
	errs = append(errs, distinct(p.Child("consumesCounters"), d.ConsumesCounters, maxConsumptions, checkConsumption,
		func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet })...)
	errs = append(errs, c.nodes(p, d)...)
	errs = append(errs, checkBinding(p, d.BindingConditions, d.BindingFailureConditions)...)
	return append(errs, checkMappings(p.Child("nodeAllocatableResourceMappings"), d)...)
}

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

// nodes checks which nodes can use the device, if that is not the slice's to say.
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

// attributeValues counts the values of all attributes; an attribute without lists has one.
func attributeValues(d *resourcev1.Device) int {
	n := 0
	for _, a := range d.Attributes {
		n += max(1, len(a.IntValues)+len(a.BoolValues)+len(a.StringValues)+len(a.VersionValues))
	}
	return n
}

// checkAttribute checks the value of an attribute, which is of one type, alone or in a list.
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

// checkValues checks a list of values, which may be unset, but not empty. Without a rule any value
// will do.
func checkValues[T any](p *field.Path, list []T, rule func(*field.Path, *T) field.ErrorList) field.ErrorList {
	switch {
	case list != nil && len(list) == 0:
		return field.ErrorList{field.Invalid(p, list, "must not be empty if specified")}
	case rule == nil:
		return nil
	}
	return bounded(p, list, len(list), rule)
}

func checkText(p *field.Path, text *string) field.ErrorList {
	if len(*text) > maxAttribute {
		return field.ErrorList{field.TooLong(p, *text, maxAttribute)}
	}
	return nil
}

// versions are those of semver.org 2.0.0: three numbers, maybe with the parts of a release before
// it, and of a build.
var versions = names.Pattern(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

func checkVersion(p *field.Path, text *string) field.ErrorList {
	var errs field.ErrorList
	if !versions().MatchString(*text) {
		errs = append(errs, field.Invalid(p, *text, "must be a string compatible with semver.org spec 2.0.0"))
	}
	return append(errs, checkText(p, text)...)
}

func checkTaint(p *field.Path, t *resourcev1.DeviceTaint) field.ErrorList {
	errs := check.QualifiedName(p.Child("key"), t.Key)
	errs = append(errs, check.Invalid(p.Child("value"), t.Value, names.IsValidLabelValue(t.Value))...)
	return append(errs, check.OneOf(p.Child("effect"), t.Effect, taintEffects...)...)
}

func checkCounterSet(p *field.Path, c *resourcev1.CounterSet) field.ErrorList {
	errs := check.Needed(p.Child("name"), c.Name, check.DNSLabel)
	return append(errs, checkCounters(p.Child("counters"), c.Counters)...)
}

func checkConsumption(p *field.Path, c *resourcev1.DeviceCounterConsumption) field.ErrorList {
	errs := check.Needed(p.Child("counterSet"), c.CounterSet, check.DNSLabel)
	return append(errs, checkCounters(p.Child("counters"), c.Counters)...)
}

// checkCounters checks the names of counters; any amount is right.
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

// checkBinding checks the conditions that a device waits for before pods are bound: there are some
// of both sorts, or none.
func checkBinding(p *field.Path, conditions, failures []string) field.ErrorList {
	at, failed := p.Child("bindingConditions"), p.Child("bindingFailureConditions")
	label := func(p *field.Path, key *string) field.ErrorList { return check.QualifiedName(p, *key) }
	errs := bounded(at, conditions, maxBinding, label)
	errs = append(errs, bounded(failed, failures, maxBinding, label)...)
	errs = append(errs, repeated(at, conditions, itself)...)
	wanted, seen := make(map[string]bool, len(conditions)), check.Duplicates{}
	for _, c := range conditions {
		wanted[c] = true
	}
	for i, c := range field.Each(&errs, failures) {
		if !seen.Add(*c) {
			errs = append(errs, field.Duplicate(failed.Index(i), *c))
		}
		if wanted[*c] {
			errs = append(errs, field.Invalid(failed.Index(i), *c, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	switch {
	case len(conditions) == 0 && len(failures) > 0:
		errs = append(errs, field.Invalid(at, conditions, "bindingConditions are required to use bindingFailureConditions"))
	case len(failures) == 0 && len(conditions) > 0:
		errs = append(errs, field.Invalid(failed, failures, "bindingFailureConditions are required to use bindingConditions"))
	}
	return errs
}

// checkMappings checks what a device takes from resources of its node.
func checkMappings(p *field.Path, d *resourcev1.Device) field.ErrorList {
	var errs field.ErrorList
	for name, m := range field.Entries(&errs, d.NodeAllocatableResourceMappings) {
		at := p.Key(string(name))
		if !podspec.IsNativeResource(name) {
			errs = append(errs, field.Invalid(at, name, "must be a node allocatable resource name"))
		}
		if m.AllocationMultiplier == nil && m.CapacityKey == nil {
			errs = append(errs, field.Invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set"))
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

// checkCapacityKey checks the name of a capacity that the device has.
func checkCapacityKey(p *field.Path, d *resourcev1.Device, key resourcev1.QualifiedName) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Invalid(p, "", "capacityKey must not be an empty string")}
	}
	if _, ok := d.Capacity[key]; !ok {
		return field.ErrorList{field.NotFound(p, key)}
	}
	return nil
}
