package typeinfo_test

import (
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

func ptr[T any](v T) *T { return &v }

// samplePod is a Pod of ordinary size.
func samplePod() *corev1.Pod {
	container := corev1.Container{
		Name: "app", Image: "registry.example.com/app:v1", Command: []string{"/app", "--serve"}, Args: []string{"-v"},
		Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: "TCP"}, {ContainerPort: 443}},
		Env: []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "C", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": meta.Quantity{}, "memory": meta.Quantity{}},
			Requests: corev1.ResourceList{"cpu": meta.Quantity{}},
		},
		VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		SecurityContext: &corev1.SecurityContext{RunAsUser: ptr(int64(1000)), Privileged: ptr(false)},
	}
	sidecar := container
	sidecar.Name = "sidecar"
	return &corev1.Pod{
		TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: meta.ObjectMeta{
			Name: "web-0", Namespace: "default", UID: "u", CreationTimestamp: &meta.Time{Time: time.Unix(1, 0)},
			Labels: map[string]string{"app": "web", "tier": "front"}, Annotations: map[string]string{"a": "b"},
			OwnerReferences: []meta.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr(true)}},
		},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{container, sidecar},
			NodeSelector: map[string]string{"disk": "ssd"},
			Tolerations:  []corev1.Toleration{{Key: "k", TolerationSeconds: ptr(int64(30))}},
			Volumes:      []corev1.Volume{{Name: "data"}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
	}
}

// assertApart fails if a and b share memory that one of them could change.
func assertApart(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	switch a.Kind() {
	case reflect.Pointer, reflect.Map:
		if !a.IsNil() && a.UnsafePointer() == b.UnsafePointer() {
			t.Errorf("%s: the copy shares a %s", path, a.Type())
		}
		if a.Kind() == reflect.Map {
			for _, k := range a.MapKeys() {
				assertApart(t, path+"["+k.String()+"]", a.MapIndex(k), b.MapIndex(k))
			}
		} else if !a.IsNil() {
			assertApart(t, path, a.Elem(), b.Elem())
		}
	case reflect.Interface:
		if !a.IsNil() {
			assertApart(t, path, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		if a.Len() > 0 && a.UnsafePointer() == b.UnsafePointer() {
			t.Errorf("%s: the copy shares a %s", path, a.Type())
		}
		if a.Len() == 0 && b.Cap() > 0 {
			t.Errorf("%s: an empty copy has room in a shared array", path)
		}
		for i := range a.Len() {
			assertApart(t, path+"[]", a.Index(i), b.Index(i))
		}
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range a.NumField() {
			assertApart(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	}
}

type shapes struct {
	Any     any
	Fixed   [2][]string
	Nested  map[string]map[string][]*shapes
	Plain   map[int]int
	Ptrs    []*int32
	PtrPtr  **string
	Empty   []string
	Typed   meta.Typed
	private *big.Int
	Bytes   map[string][]byte
	Value   meta.Quantity
}

func TestCopyIsEqualAndSeparate(t *testing.T) {
	s := ptr("x")
	for name, v := range map[string]any{
		"pod": samplePod(),
		"shapes": &shapes{
			Any:    map[string]any{"a": []any{int64(1), "x", nil, map[string]any{"deep": 1.5}}, "nil": []any(nil)},
			Fixed:  [2][]string{{"a"}, nil},
			Nested: map[string]map[string][]*shapes{"a": {"b": {{Ptrs: []*int32{ptr(int32(1)), nil}}, nil}}, "n": nil},
			Plain:  map[int]int{1: 2}, PtrPtr: &s, Empty: make([]string, 0, 4), Typed: samplePod(),
			private: big.NewInt(1 << 40), Bytes: map[string][]byte{"a": []byte("x"), "nil": nil, "empty": {}},
		},
		"nil fields": &shapes{},
	} {
		t.Run(name, func(t *testing.T) {
			got := typeinfo.Copy(v)
			if !reflect.DeepEqual(got, v) {
				t.Errorf("Copy: got %+v, want %+v", got, v)
			}
			assertApart(t, name, reflect.ValueOf(v), reflect.ValueOf(got))
		})
	}
}

func TestCopyOfValues(t *testing.T) {
	labels := map[string]string{"a": "b"}
	c := typeinfo.Copy(labels)
	c["a"] = "changed"
	if labels["a"] != "b" {
		t.Error("Copy of a map shares it")
	}
	if got := typeinfo.Copy((*corev1.Pod)(nil)); got != nil {
		t.Errorf("Copy(nil pod): got %v", got)
	}
	if got := typeinfo.Copy(meta.Typed(nil)); got != nil {
		t.Errorf("Copy(nil interface): got %v", got)
	}
	list := []corev1.Container{{Args: []string{"a"}}}
	copied := typeinfo.Copy(list)
	copied[0].Args[0] = "changed"
	if list[0].Args[0] != "a" {
		t.Error("Copy of a slice shares its elements' memory")
	}
}

// fewestAllocs returns the fewest allocations of many runs: pools may be emptied at any time, and
// under the race detector often are.
func fewestAllocs(run func()) float64 {
	least := testing.AllocsPerRun(1, run)
	for range 60 {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	return least
}

func TestCopyAllocatesOnlyWhatItOwns(t *testing.T) {
	pod := samplePod()
	needed := 0
	countOwned(reflect.ValueOf(pod), &needed)
	got := fewestAllocs(func() { sink = typeinfo.Copy(pod) })
	t.Logf("copy of a Pod: %v allocations, %d owned pieces", got, needed)
	// In the runtime a map is more than one allocation. Every other piece must be one.
	if maps := 7; got > float64(needed+maps) {
		t.Errorf("Copy: got %v allocations, want at most %d", got, needed+maps)
	}
	var typed meta.Typed = pod
	if viaInterface := fewestAllocs(func() { sink = typeinfo.Copy(typed) }); viaInterface > got {
		t.Errorf("Copy through an interface: got %v allocations, want %v", viaInterface, got)
	}
}

var sink any

// countOwned counts the pieces of memory below v.
func countOwned(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			*n++
			countOwned(v.Elem(), n)
		}
	case reflect.Map:
		if !v.IsNil() {
			*n++
			for _, k := range v.MapKeys() {
				countOwned(v.MapIndex(k), n)
			}
		}
	case reflect.Slice:
		if v.Len() > 0 {
			*n++
		}
		for i := range v.Len() {
			countOwned(v.Index(i), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			countOwned(v.Field(i), n)
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	pod := samplePod()
	b.Run("object=pod", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sink = typeinfo.Copy(pod)
		}
	})
	b.Run("object=flat", func(b *testing.B) {
		b.ReportAllocs()
		flat := &corev1.ContainerPort{Name: "web", ContainerPort: 80}
		for b.Loop() {
			sink = typeinfo.Copy(flat)
		}
	})
}
