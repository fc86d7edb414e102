package extensions

import (
	"errors"
	"maps"
	"slices"
	"strings"

	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// SchemaRules are the rules for schemas that a definition may break on an update because it broke them before.
type SchemaRules struct{}

// RulesFor returns the rules for the schemas of spec, which replaces old; nil says that it is new.
func RulesFor(_, _ *v1.CustomResourceDefinitionSpec) SchemaRules { return SchemaRules{} }

// ValidateSchema judges the schema of a version, which stands at path. status says that the version has the subresource.
func ValidateSchema(_ *field.Path, _ *v1.JSONSchemaProps, _ bool, _ SchemaRules) field.ErrorList {
	return nil
}

func hasDefault(s *v1.JSONSchemaProps) bool { return s.Default != nil }

// foreignField names a field in a schema that structural schemas cannot have, "" if there is none.
func foreignField(*v1.JSONSchemaProps) string { return "" }

// anyPart reports whether a predicate holds for a part of the schema of some version.
func anyPart(spec *v1.CustomResourceDefinitionSpec, holds func(*v1.JSONSchemaProps) bool) bool {
	return slices.ContainsFunc(spec.Versions, func(v v1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && anyIn(v.Schema.OpenAPIV3Schema, holds)
	})
}

// anyIn reports whether a predicate holds for a schema or one of its properties, items and entries.
func anyIn(s *v1.JSONSchemaProps, holds func(*v1.JSONSchemaProps) bool) bool {
	if s == nil {
		return false
	}
	if holds(s) || s.Items != nil && anyIn(s.Items.Schema, holds) ||
		s.AdditionalProperties != nil && anyIn(s.AdditionalProperties.Schema, holds) {
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if p := s.Properties[name]; anyIn(&p, holds) {
			return true
		}
	}
	return false
}

var errNoField = errors.New("does not refer to a valid field")

// plainName splits a name from what follows it.
func plainName(path string) (name, rest string, err error) {
	if path == "" {
		return "", "", errors.New("unexpected end of JSON path")
	}
	end := strings.IndexAny(path, ".[]")
	switch end {
	case -1:
		return path, "", nil
	case 0:
		end = 1 // the delimiter itself
	}
	return path[:end], path[end:], nil
}
