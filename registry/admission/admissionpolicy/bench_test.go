package admissionpolicy_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// BenchmarkValidate validates a ConfigMap by policies with some expressions, and by 200 policies
// for other resources.
func BenchmarkValidate(b *testing.B) {
	check := `{expression: "object.data.a == '1'"}`
	for _, bm := range []struct {
		name     string
		policies []string
	}{
		{"unmatched=200", unmatched(200)},
		{"expressions=0", []string{validatingPolicy("p", "\n  validations: []"), denies}},
		{"expressions=1", []string{validatingPolicy("p", "\n  validations: ["+check+"]"), denies}},
		{"expressions=5", []string{validatingPolicy("p", "\n  validations: ["+check+strings.Repeat(","+check, 4)+"]"), denies}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			w := newWorld(b)
			w.set(bm.policies...)
			a := w.write(admission.Create, configMap("a", "1"), nil)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.validator.Validate(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMutate sets a label of a ConfigMap, in both runs of the mutators.
func BenchmarkMutate(b *testing.B) {
	w := newWorld(b)
	w.set(mutatingPolicy("p", applies("Object{metadata: Object.metadata{labels: {'a': 'b'}}}")), mutatingBinding("b", "p", ""))
	b.ReportAllocs()
	for b.Loop() {
		a := w.write(admission.Create, configMap("a", "1"), nil)
		if err := (admission.Chain{w.mutator}).Mutate(b.Context(), a); err != nil {
			b.Fatal(err)
		}
		if a.Object.(*corev1.ConfigMap).Labels["a"] != "b" {
			b.Fatal("there is no label")
		}
	}
}
