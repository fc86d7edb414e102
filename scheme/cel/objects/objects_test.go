package objects_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/cel/objects"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
)

// treeOf returns the value that cel-go makes of the decoded JSON of an object.
func treeOf(t *testing.T, object meta.Typed) ref.Val {
	t.Helper()
	text, err := codec.AppendJSON(nil, object)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsontext.Decode(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(tree)
}

// differs describes the first difference between a view and the value of a tree, by all operations
// of expressions; "" if there is none.
func differs(path string, got, want ref.Val) string {
	if got.Type() != want.Type() {
		return fmt.Sprintf("%s: type %v, want %v", path, got.Type(), want.Type())
	}
	switch want := want.(type) {
	case traits.Mapper:
		got := got.(traits.Mapper)
		if got.Size() != want.Size() {
			return fmt.Sprintf("%s: size %v, want %v", path, got.Size(), want.Size())
		}
		for it := got.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			theirs, ok := want.Find(key)
			if !ok || got.Contains(key) != types.True {
				return fmt.Sprintf("%s: %v exists", path, key)
			}
			if text := differs(fmt.Sprint(path, ".", key), got.Get(key), theirs); text != "" {
				return text
			}
		}
		none := types.String("no field")
		if g, w := fmt.Sprint(got.Get(none)), fmt.Sprint(want.Get(none)); g != w || got.Contains(none) != types.False {
			return fmt.Sprintf("%s: %s, want %s", path, g, w)
		}
	case traits.Lister:
		got := got.(traits.Lister)
		if got.Size() != want.Size() {
			return fmt.Sprintf("%s: size %v, want %v", path, got.Size(), want.Size())
		}
		i := types.Int(0)
		for it := got.Iterator(); it.HasNext() == types.True; i++ {
			if text := differs(fmt.Sprint(path, "[", i, "]"), it.Next(), want.Get(i)); text != "" {
				return text
			}
		}
		if g, w := fmt.Sprint(got.Get(i)), fmt.Sprint(want.Get(i)); g != w {
			return fmt.Sprintf("%s: %s, want %s", path, g, w)
		}
	default:
		if got.Equal(want) != types.True {
			return fmt.Sprintf("%s: %v, want %v", path, got, want)
		}
	}
	return ""
}

// TestAllKinds: views of objects of all kinds equal the values of their JSON.
func TestAllKinds(t *testing.T) {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	for _, gvk := range s.AllKinds() {
		if _, err := s.NewObject(gvk); err != nil || gvk.Version == scheme.InternalVersion {
			continue
		}
		for seed := range uint64(3) {
			object, _ := s.NewObject(gvk)
			if seed > 0 { // the first object is empty
				sample.New(seed).Fill(object)
			}
			object.GetTypeMeta().SetGroupVersionKind(gvk)
			var view objects.View
			got, want := view.Value(object), treeOf(t, object)
			if text := differs("", got, want); text != "" {
				t.Errorf("%v: %s", gvk, text)
			}
			if types.Equal(got, want) != types.True || types.Equal(want, got) != types.True {
				t.Errorf("%v: the view is not equal to the tree", gvk)
			}
			tree, ok := objects.Tree(got)
			if !ok || types.DefaultTypeAdapter.NativeToValue(tree).Equal(want) != types.True {
				t.Errorf("%v: the tree of the view is %v", gvk, tree)
			}
		}
	}
}

// TestUnstructured: the view of an object without a Go type joins its metadata and its content.
func TestUnstructured(t *testing.T) {
	u, err := scheme.FromTree(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"b": "c"}},
		"spec":     map[string]any{"sizes": []any{int64(1), 2.5, nil}, "deep": map[string]any{"on": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []*scheme.Unstructured{u, {}, {TypeMeta: meta.TypeMeta{Kind: "Widget"}}} {
		var view objects.View
		if text := differs("", view.Value(u), treeOf(t, u)); text != "" {
			t.Error(text)
		}
	}
}

// TestNil: nil of any type is null.
func TestNil(t *testing.T) {
	var view objects.View
	var pod *corev1.Pod
	var none *scheme.Unstructured
	var typed meta.Typed
	for _, object := range []any{nil, pod, none, typed} {
		if v := view.Value(object); v != types.NullValue {
			t.Errorf("Value(%T): got %v, want null", object, v)
		}
	}
	if v := view.Value(3.5); v != types.Double(3.5) {
		t.Errorf("got %v, want 3.5", v)
	}
	if v := view.Value(struct{}{}); !types.IsError(v) {
		t.Errorf("got %v, want an error", v)
	}
}

// TestSums: views can be added to lists that an expression has made, on both sides.
func TestSums(t *testing.T) {
	var view objects.View
	pod := &corev1.Pod{}
	pod.Finalizers = []string{"a", "b"}
	list := view.Value(pod).(traits.Mapper).Get(types.String("metadata")).(traits.Mapper).Get(types.String("finalizers"))
	made := types.NewStringList(types.DefaultTypeAdapter, []string{"c"})
	for _, tt := range []struct {
		sum  ref.Val
		want []string
	}{
		{list.(traits.Adder).Add(made), []string{"a", "b", "c"}},
		{made.Add(list), []string{"c", "a", "b"}},
		{list.(traits.Adder).Add(list), []string{"a", "b", "a", "b"}},
		{list.(traits.Adder).Add(types.NewStringList(types.DefaultTypeAdapter, nil)), []string{"a", "b"}},
	} {
		if tt.sum.Equal(types.NewStringList(types.DefaultTypeAdapter, tt.want)) != types.True {
			t.Errorf("got %v, want %v", tt.sum, tt.want)
		}
	}
	if v := list.(traits.Adder).Add(types.Int(1)); !types.IsError(v) {
		t.Errorf("got %v, want an error", v)
	}
	if list.(traits.Container).Contains(types.String("b")) != types.True || list.(traits.Container).Contains(types.Int(1)) != types.False {
		t.Error("Contains is wrong")
	}
}

// TestOnce: a value that has to be converted is converted once, so that reading it again takes no
// time.
func TestOnce(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{"key": make([]byte, 1<<20)}}
	var view objects.View
	data := view.Value(secret).(traits.Mapper).Get(types.String("data")).(traits.Mapper)
	read := func() string {
		text, _ := data.Get(types.String("key")).(types.String)
		return string(text)
	}
	if a, b := read(), read(); len(a) < 1<<20 || unsafe.StringData(a) != unsafe.StringData(b) {
		t.Errorf("the text of bytes was made twice, of %d and %d characters", len(a), len(b))
	}
}

// TestAllocations: reading a field of a struct allocates its value, whatever else the object holds.
func TestAllocations(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
	pod.Spec.Containers = make([]corev1.Container, 1000)
	var view objects.View
	spec, node := types.String("spec"), types.String("nodeName")
	var key, field ref.Val = spec, node
	object := view.Value(pod).(traits.Mapper)
	if n := testing.AllocsPerRun(100, func() {
		v, _ := object.Find(key)
		v, _ = v.(traits.Mapper).Find(field)
		if v != types.String("n") {
			t.Error(v)
		}
	}); n > 3 {
		t.Errorf("got %v allocations, want at most 3", n)
	}
}
