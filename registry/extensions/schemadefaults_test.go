package extensions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/extensions"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
)

// TestDefaultsShareABudget: the rules for all defaults of a schema share the budget of one object,
// so that a definition with many defaults is validated in bounded time.
func TestDefaultsShareABudget(t *testing.T) {
	const over = "no further validation rules will be run"
	for _, tt := range []struct{ fields, over int }{{5, 0}, {40, 1}} {
		s := v1.JSONSchemaProps{Type: "object", Properties: map[string]v1.JSONSchemaProps{}}
		for i := range tt.fields {
			s.Properties[fmt.Sprintf("f%02d", i)] = v1.JSONSchemaProps{
				Type: "string", Default: &v1.JSON{Raw: []byte(`"` + strings.Repeat("x", 9000) + `"`)},
				XValidations: []v1.ValidationRule{{Rule: "self.contains(self)"}}, // each rule costs 810,000
			}
		}
		got := 0
		for _, err := range extensions.ValidateSchema(t.Context(), nil, &s, false, extensions.RulesFor(&v1.CustomResourceDefinitionSpec{}, nil)) {
			if strings.Contains(err.Detail, over) {
				got++
			}
		}
		if got != tt.over {
			t.Errorf("%d defaults: got %d errors about the budget, want %d", tt.fields, got, tt.over)
		}
	}
}
