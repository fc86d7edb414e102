package extensions

import (
	"slices"

	"github.com/coracle-project/coracle/registry/govalue"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// mapAndListType validates x-kubernetes-map-type, x-kubernetes-list-type and
// x-kubernetes-list-map-keys, by which server-side apply merges a map or list.
func (c *schemaChecker) mapAndListType(p *field.Path, s *v1.JSONSchemaProps) {
	if s.XMapType != nil {
		c.wantType(p, s, "object", "x-kubernetes-map-type")
		if valid := []string{"atomic", "granular"}; !slices.Contains(valid, *s.XMapType) {
			c.fail(field.NotSupported(p.Child("x-kubernetes-map-type"), *s.XMapType, valid))
		}
	}
	here := p.Child("x-kubernetes-list-type")
	if s.XListType != nil {
		c.wantType(p, s, "array", "x-kubernetes-list-type")
		if c.rules.AtomicSets && s.Type == "array" && isSetOfGranular(s) {
			items := elementSchema(s)
			which := "x-kubernetes-map-type"
			if items.Type == "array" {
				which = "x-kubernetes-list-type"
			}
			c.fail(field.Invalid(p.Child("items", which), items.XListType,
				"must be atomic as item of a list with x-kubernetes-list-type=set"))
		}
		if valid := []string{"atomic", "set", "map"}; !slices.Contains(valid, *s.XListType) {
			c.fail(field.NotSupported(here, *s.XListType, valid))
		}
	}
	switch {
	case len(s.XListMapKeys) == 0:
	case s.XListType == nil:
		c.fail(field.Required(here, "must be map if x-kubernetes-list-map-keys is non-empty"))
	case *s.XListType != "map":
		c.fail(field.Invalid(here, *s.XListType, "must be map if x-kubernetes-list-map-keys is non-empty"))
	}
}

// wantType requires the schema to have the type want, to which the extension applies.
func (c *schemaChecker) wantType(p *field.Path, s *v1.JSONSchemaProps, want, extension string) {
	detail := "must be " + want + " if " + extension + " is specified"
	switch s.Type {
	case want:
	case "":
		c.fail(field.Required(p.Child("type"), detail))
	default:
		c.fail(field.Invalid(p.Child("type"), s.Type, detail))
	}
}

// isSetOfGranular reports whether s is the schema of a set whose elements are merged field by
// field. A set compares whole elements, so its elements must be scalars or atomic.
func isSetOfGranular(s *v1.JSONSchemaProps) bool {
	items := elementSchema(s)
	if s.XListType == nil || *s.XListType != "set" || items == nil {
		return false
	}
	switch items.Type {
	case "array":
		return items.XListType != nil && *items.XListType != "atomic"
	case "object":
		return items.XMapType == nil || *items.XMapType != "atomic"
	}
	return false
}

// listMap validates a list of type map: its elements are objects, and its keys are scalar fields of
// them.
func (c *schemaChecker) listMap(p *field.Path, s *v1.JSONSchemaProps) {
	here, items := p.Child("x-kubernetes-list-map-keys"), elementSchema(s)
	if len(s.XListMapKeys) == 0 {
		c.fail(field.Required(here, "must not be empty if x-kubernetes-list-type is map"))
	}
	switch {
	case s.Items == nil:
		c.fail(field.Required(p.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
		return
	case items == nil:
		c.fail(field.Invalid(p.Child("items"), govalue.JSON(s.Items),
			"must only have a single schema if x-kubernetes-list-type is map"))
		return
	case items.Type != "object":
		c.fail(field.Invalid(p.Child("items", "type"), items.Type,
			"must be object if parent array's x-kubernetes-list-type is map"))
		return
	}
	seen := make(map[string]bool, len(s.XListMapKeys))
	for _, key := range s.XListMapKeys {
		f, ok := items.Properties[key]
		switch {
		case !ok:
			c.fail(field.Invalid(here, s.XListMapKeys, "entries must all be names of item properties"))
		case f.Type == "array" || f.Type == "object":
			c.fail(field.Invalid(p.Child("items", "properties").Key(key).Child("type"), items.Type,
				"must be a scalar type if parent array's x-kubernetes-list-type is map"))
		}
		if seen[key] {
			c.fail(field.Invalid(here, s.XListMapKeys, "must not contain duplicate entries"))
		}
		seen[key] = true
	}
}

// validateListKeys requires each element of a set or of a list of type map to be identifiable: the
// element is not null, and in a list of type map each key has a value, because it is required or
// has a default.
func validateListKeys(p *field.Path, s *v1.JSONSchemaProps) field.ErrorList {
	items := elementSchema(s)
	if items == nil || s.XListType == nil || *s.XListType != "set" && *s.XListType != "map" {
		return nil
	}
	var errs field.ErrorList
	if items.Nullable {
		errs = append(errs, field.Forbidden(p.Child("items", "nullable"),
			"cannot be nullable when x-kubernetes-list-type is "+*s.XListType))
	}
	if *s.XListType == "set" {
		return errs
	}
	for _, key := range field.Each(&errs, s.XListMapKeys) {
		f, ok := items.Properties[*key]
		if !ok {
			continue
		}
		here := p.Child("items", "properties").Key(*key)
		if f.Default == nil && !slices.Contains(items.Required, *key) {
			errs = append(errs, field.Required(here.Child("default"),
				"this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"))
		}
		if f.Nullable {
			errs = append(errs, field.Forbidden(here.Child("nullable"),
				"this property is in x-kubernetes-list-map-keys, so it cannot be nullable"))
		}
	}
	return errs
}
