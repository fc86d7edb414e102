package sample_test

import (
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

func TestFillIsDeterministicAndValid(t *testing.T) {
	filled := map[string]bool{}
	for seed := range uint64(200) {
		var a, b corev1.Pod
		sample.New(seed).Fill(&a)
		sample.New(seed).Fill(&b)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: two fillings differ", seed)
		}
		if errs := typeinfo.Validate(&a, nil); len(errs) > 0 {
			t.Errorf("seed %d: %v", seed, errs)
		}
		if a.TypeMeta.Kind != "" || len(a.Spec.Containers) == 0 {
			t.Errorf("seed %d: want no kind and at least one container", seed)
		}
		note(filled, "", reflect.ValueOf(a), 0)
	}
	for _, path := range []string{".Spec.Volumes", ".Spec.Affinity", ".Status.Conditions", ".ObjectMeta.Labels"} {
		if !filled[path] {
			t.Errorf("%s is never filled", path)
		}
	}
}

// note records which fields are not zero.
func note(filled map[string]bool, path string, v reflect.Value, depth int) {
	if !v.IsZero() {
		filled[path] = true
	}
	if v.Kind() == reflect.Struct && depth < 3 {
		for i := range v.NumField() {
			note(filled, path+"."+v.Type().Field(i).Name, v.Field(i), depth+1)
		}
	}
}
