package scheme_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
)

// fullScheme has every kind of the tree and the test group.
func fullScheme(t testing.TB) *scheme.Scheme {
	return newScheme(t, corev1.Scheme.AddToScheme, coordinationv1.Scheme.AddToScheme)
}

// eachSample calls check with random objects of every kind.
func eachSample(t *testing.T, check func(t *testing.T, s *scheme.Scheme, obj meta.Typed, gvk meta.GroupVersionKind)) {
	s := fullScheme(t)
	for _, gvk := range s.AllKinds() {
		obj, err := s.NewObject(gvk)
		if err != nil {
			continue // watch events are no objects
		}
		t.Run(gvk.String(), func(t *testing.T) {
			for seed := range uint64(20) {
				obj = reflect.New(reflect.TypeOf(obj).Elem()).Interface().(meta.Typed)
				sample.New(seed).Fill(obj)
				if spec, ok := obj.(*betaWidget); ok {
					setSizes(&spec.Spec, seed)
				}
				if list, ok := obj.(*betaWidgetList); ok {
					for i := range list.Items {
						setSizes(&list.Items[i].Spec, seed)
					}
				}
				obj.GetTypeMeta().SetGroupVersionKind(gvk)
				check(t, s, obj, gvk)
			}
		})
	}
}

// setSizes replaces the random text of betaSpec.SizeText, which must be a number.
func setSizes(spec *betaSpec, n uint64) {
	for ; spec != nil; spec = spec.Next {
		spec.SizeText = fmt.Sprint(n)
	}
}

func TestCopyRoundTrip(t *testing.T) {
	eachSample(t, func(t *testing.T, _ *scheme.Scheme, obj meta.Typed, _ meta.GroupVersionKind) {
		if got := scheme.Copy(obj); !reflect.DeepEqual(got, obj) || got == obj {
			t.Errorf("Copy: got %+v, want %+v", got, obj)
		}
	})
}

func TestHubRoundTrip(t *testing.T) {
	eachSample(t, func(t *testing.T, s *scheme.Scheme, obj meta.Typed, gvk meta.GroupVersionKind) {
		want := scheme.Copy(obj)
		hub, err := s.ConvertTo(obj, meta.GroupVersion{Group: gvk.Group, Version: scheme.InternalVersion})
		if err != nil {
			t.Fatalf("ConvertTo the hub: %v", err)
		}
		back, err := s.ConvertTo(hub, gvk.GroupVersion())
		if err != nil {
			t.Fatalf("ConvertTo %s: %v", gvk.GroupVersion(), err)
		}
		if !reflect.DeepEqual(back, want) {
			t.Errorf("round trip: got %+v, want %+v", back, want)
		}
	})
}

// Defaulting twice must change nothing: objects are defaulted again whenever they are read.
func TestDefaultIsIdempotent(t *testing.T) {
	eachSample(t, func(t *testing.T, s *scheme.Scheme, obj meta.Typed, _ meta.GroupVersionKind) {
		s.Default(obj)
		want := scheme.Copy(obj)
		s.Default(obj)
		if !reflect.DeepEqual(obj, want) {
			t.Errorf("Default: second run got %+v, want %+v", obj, want)
		}
	})
}
