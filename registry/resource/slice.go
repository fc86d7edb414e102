package resource

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/resourcev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The resource resourceslices and its validation. A driver publishes a slice, and the scheduler
// reads it. device.go checks its devices.

// deviceSlices declares the resource resourceslices. Watchers are grouped by spec.nodeName, because
// each kubelet watches the slices of its own node.
func deviceSlices() registry.Resource {
	return registry.Typed(registry.ResourceOf[*resourcev1.ResourceSlice]{
		GroupResource: resource("resourceslices"),
		Kind:          "ResourceSlice",
		Strategy: registry.StrategyOf[*resourcev1.ResourceSlice]{
			Metadata:                 registry.MetaChange,
			Prepare:                  prepareSlice,
			Validate:                 checkSlice,
			Warnings:                 sliceWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Fields: []registry.FieldValue{
			{Label: "spec.nodeName", Path: "spec.nodeName", Groups: true},
			{Label: "spec.driver", Path: "spec.driver"},
		},
		Table: &registry.TableOf[*resourcev1.ResourceSlice]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Node", "The only node that can use the devices.", 0),
				registry.Column("Driver", "Name of the driver that publishes the slice.", 0),
				registry.Column("Pool", "Name of the pool that the devices belong to.", 0),
				registry.AgeColumn,
			},
			Cells: func(s *resourcev1.ResourceSlice, now time.Time) []any {
				return []any{s.Name, scheme.OrZero(s.Spec.NodeName), s.Spec.Driver, s.Spec.Pool.Name,
					registry.Age(&s.ObjectMeta, now)}
			},
		},
		ReturnsDeleted: true,
	})
}

// prepareSlice drops the fields of features that are off in Kubernetes 1.36: lists as attributes,
// and mappings to resources of the node. As Kubernetes does, it keeps such a field if a device of
// the old slice has it.
func prepareSlice(_ *registry.Request, s, old *resourcev1.ResourceSlice) {
	had := func(has func(resourcev1.Device) bool) bool {
		return old != nil && slices.ContainsFunc(old.Spec.Devices, has)
	}
	mappings := had(func(d resourcev1.Device) bool { return len(d.NodeAllocatableResourceMappings) > 0 })
	lists := had(hasAttributeList)
	for i := range s.Spec.Devices {
		d := &s.Spec.Devices[i]
		if !mappings {
			d.NodeAllocatableResourceMappings = nil
		}
		if lists {
			continue
		}
		for name, a := range d.Attributes {
			a.IntValues, a.BoolValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
			d.Attributes[name] = a
		}
	}
}

// hasAttributeList reports whether an attribute of the device holds a list.
func hasAttributeList(d resourcev1.Device) bool {
	for _, a := range d.Attributes {
		if a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil {
			return true
		}
	}
	return false
}

// sliceWarnings warns of a driver's name with upper-case letters.
func sliceWarnings(s, _ *resourcev1.ResourceSlice) []string {
	if s.Spec.Driver == strings.ToLower(s.Spec.Driver) {
		return nil
	}
	return []string{
		fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", s.Spec.Driver),
	}
}

// checkSlice validates a slice. It lists devices, or the counters that devices of other slices of
// the pool share, but not both.
func checkSlice(s, old *resourcev1.ResourceSlice) field.ErrorList {
	spec, p := &s.Spec, field.NewPath("spec")
	errs := podspec.CSIDriverName(p.Child("driver"), spec.Driver)
	errs = append(errs, checkResourcePool(p.Child("pool"), &spec.Pool)...)
	if old != nil {
		was := &old.Spec
		errs = append(errs, check.Immutable(p.Child("pool", "name"), &spec.Pool.Name, &was.Pool.Name)...)
		errs = append(errs, check.Immutable(p.Child("driver"), &spec.Driver, &was.Driver)...)
		errs = append(errs, check.Immutable(p.Child("nodeName"), &spec.NodeName, &was.NodeName)...)
	}
	errs = append(errs, checkSliceNodes(p, spec)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(p, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	limit := maxDevices
	if slices.ContainsFunc(spec.Devices, isAdvanced) {
		limit = maxAdvancedDevices
	}
	errs = append(errs, checkDistinct(p.Child("devices"), spec.Devices, limit, deviceCheck{spec, old}.device,
		func(d *resourcev1.Device) string { return d.Name })...)
	return append(errs, checkDistinct(p.Child("sharedCounters"), spec.SharedCounters, maxCounterSets, checkCounterSet,
		func(c *resourcev1.CounterSet) string { return c.Name })...)
}

// isAdvanced reports whether a device has parts that cost more to check or to allocate. A slice
// with such a device may hold fewer devices: maxAdvancedDevices.
func isAdvanced(d resourcev1.Device) bool {
	return len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 || hasAttributeList(d)
}

// checkResourcePool checks the pool that a slice belongs to.
func checkResourcePool(p *field.Path, pool *resourcev1.ResourcePool) field.ErrorList {
	errs := checkPool(p.Child("name"), pool.Name)
	errs = append(errs, check.Positive(p.Child("resourceSliceCount"), pool.ResourceSliceCount)...)
	if pool.Generation < 0 {
		errs = append(errs,
			field.Invalid(p.Child("generation"), pool.Generation, "must be greater than or equal to zero"))
	}
	return errs
}

// checkSliceNodes checks the fields that say which nodes can use the devices. Exactly one of the
// four is set.
func checkSliceNodes(p *field.Path, spec *resourcev1.ResourceSliceSpec) field.ErrorList {
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	n := nodeCheck{emptyName: "must be either unset or set to a non-empty string"}
	n.name(p, spec.NodeName)
	n.selector(p, spec.NodeSelector)
	if s := spec.NodeSelector; s != nil && len(s.NodeSelectorTerms) != 1 {
		n.errs = append(n.errs,
			field.Invalid(p.Child("nodeSelector", "nodeSelectorTerms"), govalue.JSON(s.NodeSelectorTerms),
				"must have exactly one node selector term"))
	}
	n.flag(p, "allNodes", spec.AllNodes)
	n.flag(p, "perDeviceNodeSelection", spec.PerDeviceNodeSelection)
	switch len(n.set) {
	case 0:
		n.errs = append(n.errs, field.Required(p, one))
	case 1:
	default:
		n.errs = append(n.errs, field.Invalid(p, n.fields(), one+", but multiple fields are set"))
	}
	return n.errs
}

// nodeCheck checks the fields that say which nodes can use devices, for slices and for devices. It
// collects the names of the fields that are set, and the errors.
type nodeCheck struct {
	emptyName string   // the text of the error about an empty name
	set       []string // names of fields, in backquotes
	errs      field.ErrorList
}

// name checks the name of the only node. An empty name counts as not set.
func (n *nodeCheck) name(p *field.Path, name *string) {
	switch p = p.Child("nodeName"); {
	case name == nil:
	case *name == "":
		n.errs = append(n.errs, field.Invalid(p, *name, n.emptyName))
	default:
		n.set = append(n.set, "`nodeName`")
		n.errs = append(n.errs, check.DNSSubdomain(p, *name)...)
	}
}

// selector checks the selector of nodes.
func (n *nodeCheck) selector(p *field.Path, s *corev1.NodeSelector) {
	if s != nil {
		n.set = append(n.set, "`nodeSelector`")
		n.errs = append(n.errs, podspec.NodeSelector(p.Child("nodeSelector"), s)...)
	}
}

// flag checks a field that is true or unset. false counts as not set, and is an error.
func (n *nodeCheck) flag(p *field.Path, name string, value *bool) {
	switch {
	case value == nil:
	case *value:
		n.set = append(n.set, "`"+name+"`")
	default:
		n.errs = append(n.errs, field.Invalid(p.Child(name), false, "must be either unset or set to true"))
	}
}

// fields returns the fields that are set, as errors print them.
func (n *nodeCheck) fields() string { return "{" + strings.Join(n.set, ", ") + "}" }
