package extensions

import (
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/schema"
)

// validateDefaults judges the defaults in a structural schema.
func validateDefaults(path *field.Path, s *v1.JSONSchemaProps, pruned bool) field.ErrorList {
	if !anyIn(s, hasDefault) {
		return nil
	}
	return compile(s, schema.ParseLiteral).ValidateDefaults(path, pruned)
}

func hasDefault(s *v1.JSONSchemaProps) bool { return s.Default != nil }

// hasUnprunedDefaults reports whether a structural schema has defaults with fields that it does not know.
func hasUnprunedDefaults(s *v1.JSONSchemaProps) bool {
	if !anyIn(s, hasDefault) || isNotStructural(s) {
		return false
	}
	return anyIn(s, func(s *v1.JSONSchemaProps) bool {
		if s.Default == nil {
			return false
		}
		literal := compile(s, schema.ParseLiteral)
		literal.Resource = false
		return len(literal.Prune(treeOf(s.Default))) > 0
	})
}
