package extensions

import (
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
)

// validateDefaults judges the defaults in a structural schema.
func validateDefaults(path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if !anyIn(s, hasDefault) {
		return nil
	}
	// Judged as a default, a value for int-or-string may have any type, as in Kubernetes.
	c := compiler{literal: true}
	return c.schema(s).ValidateDefaults(path, pruned)
}

func hasDefault(s *v1.JSONSchemaProps) bool { return s.Default != nil }

// hasUnprunedDefaults reports whether a structural schema has defaults with fields that it does not know.
func hasUnprunedDefaults(s *v1.JSONSchemaProps) bool {
	if !anyIn(s, hasDefault) || isNotStructural(s) {
		return false
	}
	c := compiler{literal: true}
	return anyIn(s, func(s *v1.JSONSchemaProps) bool {
		return s.Default != nil && len(c.schema(s).Prune(treeOf(s.Default))) > 0
	})
}
