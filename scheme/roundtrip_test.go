package scheme_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/autoscalingv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
)

// fullScheme has every kind of the tree and the test group.
func fullScheme(t testing.TB) *scheme.Scheme {
	return newScheme(t, api.AddToScheme)
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
				switch obj := obj.(type) {
				case *betaWidget:
					setSizes(&obj.Spec, seed)
				case *betaWidgetList:
					for i := range obj.Items {
						setSizes(&obj.Items[i].Spec, seed)
					}
				case *autoscalingv1.HorizontalPodAutoscaler:
					setTarget(obj)
				case *autoscalingv1.HorizontalPodAutoscalerList:
					for i := range obj.Items {
						setTarget(&obj.Items[i])
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

// setTarget gives an autoscaler the target that autoscaling/v2 would add, and no measurement,
// because conversion would also keep it in an annotation.
func setTarget(a *autoscalingv1.HorizontalPodAutoscaler) {
	a.Spec.TargetCPUUtilizationPercentage, a.Status.CurrentCPUUtilizationPercentage = new(int32(80)), nil
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

// TestDefaultIsIdempotent: defaulting a second time changes nothing, because objects are defaulted
// again when they are read.
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

// TestAllocations: defaulting, checking and copying an object, which each request does, allocate
// nothing without need.
func TestAllocations(t *testing.T) {
	s := fullScheme(t)
	// The pod has no quantities, because rounding them allocates.
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}, {Name: "b"}},
		Volumes:    []corev1.Volume{{Name: "v"}},
	}}
	s.Default(pod)
	configMap := &corev1.ConfigMap{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	for _, tt := range []struct {
		name string
		run  func()
		want float64
	}{
		{"Default of a defaulted Pod", func() { s.Default(pod) }, 0},
		{"Default of a ConfigMap", func() { s.Default(configMap) }, 0},
		{"Check of a ConfigMap", func() { s.Check(configMap, configMap) }, 0},
		{"FromHub of the same version", func() { _, _ = s.FromHub(configMap, corev1.GroupVersion) }, 0},
		{"ToHub of the same type", func() { _, _ = s.ToHub(configMap) }, 0},
	} {
		if got := testing.AllocsPerRun(200, tt.run); got > tt.want {
			t.Errorf("%s: got %v allocs, want %v", tt.name, got, tt.want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s := fullScheme(t)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			for _, gvk := range s.AllKinds() {
				obj, err := s.NewObject(gvk)
				if err != nil {
					continue
				}
				sample.New(seed).Fill(obj)
				obj = scheme.Copy(obj)
				s.Default(obj)
				s.Check(obj, nil)
				_, _ = s.ConvertTo(obj, v1) // most kinds have no such version
			}
		})
	}
	wg.Wait()
}

func BenchmarkPod(b *testing.B) {
	s := fullScheme(b)
	pod := &corev1.Pod{}
	sample.New(1).Fill(pod)
	s.Default(pod)
	for name, run := range map[string]func(){
		"Default": func() { s.Default(pod) },
		"Check":   func() { s.Check(pod, pod) },
		"Copy":    func() { scheme.Copy(pod) },
		"ToHub":   func() { _, _ = s.ToHub(pod) },
	} {
		b.Run("step="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
