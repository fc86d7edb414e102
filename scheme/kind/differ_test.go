package kind_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

func TestDiffer(t *testing.T) {
	const head = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"},`
	for _, tt := range []struct {
		name, a, b string
		paths      []string
		want       bool
	}{
		{"nothing", `"spec":{"color":"x"}}`, `"spec":{"color":"y"}}`, nil, false},
		{"the field", `"spec":{"color":"x"}}`, `"spec":{"color":"y"}}`, []string{"spec"}, true},
		{"another field", `"spec":{"color":"x"},"status":{"phase":"x"}}`, `"spec":{"color":"x"},"status":{"phase":"y"}}`, []string{"spec"}, false},
		{"below", `"spec":{"color":"x","size":1}}`, `"spec":{"color":"x","size":2}}`, []string{"spec.size"}, true},
		{"beside", `"spec":{"color":"x","size":1}}`, `"spec":{"color":"x","size":2}}`, []string{"spec.color"}, false},
		{"one of two", `"spec":{"color":"x"},"status":{"phase":"x"}}`, `"spec":{"color":"x"},"status":{"phase":"y"}}`, []string{"spec", "status"}, true},
		{"what is not there", `"spec":{"color":"x"}}`, `"spec":{"color":"x","finalizers":["f"]}}`, []string{"spec.finalizers"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, k kind.Kind) {
				differ, err := k.Differ(tt.paths)
				if err != nil {
					t.Fatal(err)
				}
				a, b := decode(t, k, head+tt.a).(meta.Object), decode(t, k, head+tt.b).(meta.Object)
				if got := differ(a, b); got != tt.want || differ(b, a) != tt.want || differ(a, a) {
					t.Errorf("got %v, want %v, and no object to differ from itself", got, tt.want)
				}
			})
		})
	}
	each(t, func(t *testing.T, k kind.Kind) {
		for _, path := range []string{"spec.color.shade", ""} {
			if _, err := k.Differ([]string{path}); err == nil || !strings.Contains(err.Error(), "Gadget") {
				t.Errorf("Differ(%q): got %v, want an error that names the kind", path, err)
			}
		}
	})
}
