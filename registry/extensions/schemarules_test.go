package extensions_test

import (
	"testing"

	"github.com/coracle-project/coracle/registry/extensions"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
)

// TestFieldPathsOfDeepSchemas: the cost of a schema that is not structural and has rules on each
// level grows in proportion to its depth.
func TestFieldPathsOfDeepSchemas(t *testing.T) {
	allocs := func(levels int) float64 {
		s := &v1.JSONSchemaProps{Type: "string"}
		for range levels {
			s = &v1.JSONSchemaProps{Type: "object", Properties: map[string]v1.JSONSchemaProps{"a": *s},
				XValidations: []v1.ValidationRule{{Rule: "true", FieldPath: ".a"}}}
		}
		s.Type = ""
		return testing.AllocsPerRun(1, func() {
			if errs := extensions.ValidateSchema(t.Context(), nil, s, false, extensions.RulesFor(&v1.CustomResourceDefinitionSpec{}, nil)); len(errs) != 1 {
				t.Errorf("got %v, want an error about the type", errs)
			}
		})
	}
	if few, many := allocs(200), allocs(400); many > 3*few {
		t.Errorf("got %v allocations for 200 levels and %v for 400", few, many)
	}
}
