package extensions

import (
	"maps"
	"slices"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
)

// anySchema reports whether holds is true for the schema of a version.
func anySchema(spec *v1.CustomResourceDefinitionSpec, holds func(*v1.JSONSchemaProps) bool) bool {
	return slices.ContainsFunc(spec.Versions, func(v v1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && v.Schema.OpenAPIV3Schema != nil && holds(v.Schema.OpenAPIV3Schema)
	})
}

// anyPart reports whether holds is true for a schema of a version or a schema inside it.
func anyPart(spec *v1.CustomResourceDefinitionSpec, holds func(*v1.JSONSchemaProps) bool) bool {
	return anySchema(spec, func(s *v1.JSONSchemaProps) bool { return anyIn(s, holds) })
}

// anyIn reports whether holds is true for s or a schema inside s; s may be nil. It stops at the
// first such schema. Entries of maps come in the order of their keys, except for dependencies. A
// schema that is the entry of a map is a copy, so holds must not keep or change it.
func anyIn(s *v1.JSONSchemaProps, holds func(*v1.JSONSchemaProps) bool) bool {
	if s == nil {
		return false
	}
	if holds(s) {
		return true
	}
	inList := func(list []v1.JSONSchemaProps) bool {
		for i := range list {
			if anyIn(&list[i], holds) {
				return true
			}
		}
		return false
	}
	inMap := func(m map[string]v1.JSONSchemaProps) bool {
		if len(m) == 0 {
			return false
		}
		var p v1.JSONSchemaProps // declared once outside of the loop, because the type is large
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if p = m[name]; anyIn(&p, holds) {
				return true
			}
		}
		return false
	}
	if s.Items != nil && (anyIn(s.Items.Schema, holds) || inList(s.Items.JSONSchemas)) {
		return true
	}
	for _, d := range s.Dependencies {
		if anyIn(d.Schema, holds) {
			return true
		}
	}
	return inList(s.AllOf) || inList(s.AnyOf) || inList(s.OneOf) || anyIn(s.Not, holds) || inMap(s.Properties) ||
		s.AdditionalProperties != nil && anyIn(s.AdditionalProperties.Schema, holds) || inMap(s.PatternProperties) ||
		s.AdditionalItems != nil && anyIn(s.AdditionalItems.Schema, holds) || inMap(s.Definitions)
}
