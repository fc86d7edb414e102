package schema

import (
	"slices"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// ValidateDefaults checks each default in the schema of a resource against the schema that declares
// it. If pruned is true, a default must have no field that its schema does not describe. path is
// the path of the schema in its object, a CustomResourceDefinition. Defaults below
// additionalProperties are not checked. Once m has ended, the rest is not checked.
func (s *Schema) ValidateDefaults(m *meter.Meter, path *field.Path, pruned bool) field.ErrorList {
	d := defaultChecker{meter: m, pruned: pruned}
	d.schema(path, s, true)
	return d.errs
}

// defaultChecker walks a schema and checks its defaults.
type defaultChecker struct {
	meter  *meter.Meter
	pruned bool
	errs   field.ErrorList
	// resource is the schema of the innermost resource around the current schema. way leads from it
	// to the current schema. head is true within apiVersion, kind and metadata of that resource.
	resource *Schema
	way      way
	head     bool
}

// schema checks the default of a schema and the defaults below it. root is true for the schema of
// the kind, which is a resource without saying so.
func (d *defaultChecker) schema(at *field.Path, s *Schema, root bool) {
	if s == nil || d.errs.Full() || d.meter.Step(stepsPerValue) != nil {
		return
	}
	if root || s.EmbeddedResource {
		if !s.EmbeddedResource {
			resource := *s
			resource.EmbeddedResource, resource.resources = true, true
			s = &resource
		}
		outer := *d
		d.resource, d.way, d.head = s, nil, false
		defer func() { d.resource, d.way, d.head = outer.resource, outer.way, outer.head }()
	}
	if s.Default != nil {
		d.value(at.Child("default"), s)
	}
	d.way.index(0)
	d.schema(at.Child("items"), s.Items, false)
	d.way.back()
	for _, name := range jsontext.Keys(s.Properties) {
		head := d.head
		d.head = head || len(d.way) == 0 && isHead(name)
		d.way.field(name)
		d.schema(at.Child("properties").Key(name), s.Properties[name], false)
		d.way.back()
		d.head = head
	}
}

// value checks the default of one schema: first the metadata that it is a part of, or else its
// unknown fields and the metadata of the resources in it; then its values. If metadata has errors,
// values are not checked.
func (d *defaultChecker) value(at *field.Path, s *Schema) {
	v := typeinfo.CopyJSON(s.Default)
	if d.head {
		if err := d.resourceWith(v); err != nil {
			d.errs = append(d.errs, field.Invalid(at, v, "must result in valid metadata: "+err.Error()))
			return
		}
	} else {
		if d.pruned {
			p := pruner{meter: d.meter}
			if p.value(s, typeinfo.CopyJSON(v), false); len(p.found) > 0 {
				d.errs = append(d.errs, field.Invalid(at, v, "must not have unknown fields"))
			}
		}
		if err := s.Coerce(d.meter, at, v); err != nil {
			d.errs = append(d.errs, err)
			return
		}
	}
	if !d.head {
		if errs := s.ValidateResources(d.meter, at, v); len(errs) > 0 {
			d.errs = append(d.errs, errs...)
			return
		}
	}
	c := checker{meter: d.meter, path: at, literal: true, ordered: true}
	c.value(s, v, before{})
	d.errs = append(d.errs, c.found()...)
}

// resourceWith checks a resource that has nothing but v, at the current way. A default of a part of
// metadata can be checked only as part of a whole resource.
func (d *defaultChecker) resourceWith(v any) error {
	for _, s := range slices.Backward(d.way) {
		if s.index >= 0 {
			v = []any{v}
		} else {
			v = map[string]any{s.name: v}
		}
	}
	object := v.(map[string]any) // cannot fail: the way begins with a field
	for name, usual := range map[string]string{"apiVersion": "validation/v1", "kind": "Validation"} {
		if _, ok := object[name]; !ok {
			object[name] = usual
		}
	}
	if err := d.resource.Coerce(d.meter, nil, object); err != nil {
		return err
	}
	return d.resource.ValidateResources(d.meter, nil, object).ToAggregate()
}
