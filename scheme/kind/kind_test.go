package kind_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// gadget is the kind of these tests in version v1, which is the hub.
type gadget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            gadgetSpec   `json:"spec,omitempty" pb:"2"`
	Status          gadgetStatus `json:"status,omitempty" pb:"3"`
}

type gadgetSpec struct {
	Color      string   `json:"color,omitempty" pb:"1" default:"grey"`
	Size       int64    `json:"size,omitempty" pb:"2" check:"min=0"`
	Finalizers []string `json:"finalizers,omitempty" pb:"3"`
}

type gadgetStatus struct {
	Phase string `json:"phase,omitempty" pb:"1"`
}

// oldGadget is gadget in version v1beta1, in which the color has another name and another place.
type oldGadget struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Colour          string       `json:"colour,omitempty" pb:"2"`
	Spec            gadgetSpec   `json:"spec,omitempty" pb:"3"`
	Status          gadgetStatus `json:"status,omitempty" pb:"4"`
}

// other is another kind of the same scheme.
type other struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Count           int64 `json:"count" check:"min=0" rule:"self >= oldSelf" message:"never falls"`
}

var (
	gadgets = meta.GroupKind{Group: "test.example.com", Kind: "Gadget"}
	v1      = meta.GroupVersionKind{Group: gadgets.Group, Version: "v1", Kind: gadgets.Kind}
	v1beta1 = meta.GroupVersionKind{Group: gadgets.Group, Version: "v1beta1", Kind: gadgets.Kind}
)

func newTypes(tb testing.TB) *kind.Types {
	tb.Helper()
	s := scheme.New()
	s.AddKnownType(v1, &gadget{})
	s.AddKnownType(v1beta1, &oldGadget{})
	s.AddKnownType(v1.GroupVersion().WithKind("Other"), &other{})
	s.SetVersionPriority(v1.GroupVersion(), v1beta1.GroupVersion())
	scheme.AddConversion(s, func(in *oldGadget, out *gadget) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		out.Spec.Color = in.Colour
		return nil
	})
	scheme.AddConversion(s, func(in *gadget, out *oldGadget) error {
		if err := scheme.ConvertFields(s, in, out); err != nil {
			return err
		}
		out.Colour, out.Spec.Color = in.Spec.Color, ""
		return nil
	})
	if err := s.Complete(); err != nil {
		tb.Fatal(err)
	}
	return kind.NewTypes(s, codec.NewFactory(s))
}

func parse(tb testing.TB, text string) *schema.Schema {
	tb.Helper()
	s, errs := schema.Parse(field.NewPath("schema"), []byte(text))
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return s
}

const (
	spec   = `"spec":{"type":"object","properties":{%s"size":{"type":"integer","minimum":0},"finalizers":{"type":"array","items":{"type":"string"}}}}`
	status = `"status":{"type":"object","properties":{"phase":{"type":"string"}}}`
)

// declaration declares gadget as a dynamic kind.
func declaration(tb testing.TB) kind.Dynamic {
	return kind.Dynamic{
		GroupKind: gadgets,
		Versions: []kind.DynamicVersion{
			{Name: "v1", Schema: parse(tb, `{"type":"object","required":["metadata"],"properties":{`+
				fmt.Sprintf(spec, `"color":{"type":"string","default":"grey"},`)+`,`+status+`}}`), Selectable: []string{"spec.color"}},
			{Name: "v1beta1", Schema: parse(tb, `{"type":"object","properties":{"colour":{"type":"string"},`+
				fmt.Sprintf(spec, "")+`,`+status+`}}`)},
		},
		Convert: kind.Each(func(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			from, to := []string{"spec", "color"}, []string{"colour"}
			if version == "v1" {
				from, to = to, from
			}
			if color, ok := scheme.At[string](u, from...); ok {
				u.Remove(from...)
				if err := u.Set(color, to...); err != nil {
					return nil, err
				}
			}
			u.APIVersion = gadgets.Group + "/" + version
			return u, nil
		}),
	}
}

// sorts returns the same kind as a typed kind and as a dynamic kind.
func sorts(tb testing.TB) map[string]kind.Kind {
	tb.Helper()
	dynamic, err := declaration(tb).New()
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]kind.Kind{"typed": newTypes(tb).Kind(gadgets), "dynamic": dynamic}
}

// each runs a test with both kinds of sorts.
func each(t *testing.T, test func(t *testing.T, k kind.Kind)) {
	for name, k := range sorts(t) {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

func decode(tb testing.TB, k kind.Kind, text string) meta.Typed {
	tb.Helper()
	out, err := k.Decode(codec.DecodeRequest{Data: []byte(text), Default: v1})
	if err != nil {
		tb.Fatalf("Decode(%s): %v", text, err)
	}
	return out.Object
}

func convert(tb testing.TB, k kind.Kind, obj meta.Typed, version string) meta.Typed {
	tb.Helper()
	out, err := k.Convert(tb.Context(), obj, version)
	if err != nil {
		tb.Fatalf("Convert to %s: %v", version, err)
	}
	return out
}

// tree returns an object as decoded JSON, so that the order of members does not count.
func tree(tb testing.TB, k kind.Kind, obj meta.Typed) any {
	tb.Helper()
	data, err := k.Append(nil, obj, codec.Media{})
	if err != nil {
		tb.Fatal(err)
	}
	v, _, err := codec.DecodeTree(data, false, nil)
	if err != nil {
		tb.Fatalf("%v in %s", err, data)
	}
	drop(v)
	return v
}

// drop removes empty members, because Go types write empty structs.
func drop(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for name, held := range m {
		drop(held)
		if inner, ok := held.(map[string]any); held == nil || ok && len(inner) == 0 {
			delete(m, name)
		}
	}
}

func wantTree(tb testing.TB, what string, k kind.Kind, obj meta.Typed, want string) {
	tb.Helper()
	v, _, err := codec.DecodeTree([]byte(want), false, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if got := tree(tb, k, obj); !reflect.DeepEqual(got, v) {
		tb.Errorf("%s: got %v, want %v", what, got, v)
	}
}

const (
	red = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a","labels":{"x":"y"}},` +
		`"spec":{"color":"red","size":3,"finalizers":["f"]},"status":{"phase":"Ready"}}`
	oldRed = `{"kind":"Gadget","apiVersion":"test.example.com/v1beta1","metadata":{"name":"a","labels":{"x":"y"}},` +
		`"colour":"red","spec":{"size":3,"finalizers":["f"]},"status":{"phase":"Ready"}}`
)

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		if k.GroupKind() != gadgets {
			t.Errorf("GroupKind: got %v", k.GroupKind())
		}
		versions := k.Versions()
		if len(versions) != 2 || versions[0].GVK != v1 || versions[1].GVK != v1beta1 {
			t.Fatalf("Versions: got %v, want v1 and v1beta1", versions)
		}
		if kind.In(k, "v1beta1") != versions[1] || kind.In(k, "v2") != nil || kind.In(k, "") != nil {
			t.Error("In finds other versions than there are")
		}
		if obj := k.New(); convert(t, k, obj, scheme.InternalVersion) != meta.Typed(obj) {
			t.Errorf("New: got a %T that is not of the hub", obj)
		}
		for _, v := range versions {
			if s := v.Schema(); s == nil || s.Target().Properties["spec"] == nil {
				t.Errorf("the schema of %s: got %+v", v.GVK, s)
			}
			if _, _, err := v.FieldLabel("metadata.name", "a"); err != nil {
				t.Errorf("FieldLabel(metadata.name) in %s: %v", v.GVK, err)
			}
			if _, _, err := v.FieldLabel("spec.size", "3"); err == nil {
				t.Errorf("FieldLabel(spec.size) in %s: got no error", v.GVK)
			}
		}
	})
	dynamic := sorts(t)["dynamic"]
	if label, value, err := kind.In(dynamic, "v1").FieldLabel("spec.color", "red"); label != "spec.color" || value != "red" || err != nil {
		t.Errorf("FieldLabel(spec.color): got %s=%s, %v", label, value, err)
	}
	if _, _, err := kind.In(dynamic, "v1beta1").FieldLabel("spec.color", "red"); err == nil {
		t.Error("a field that v1 declares can be selected by in v1beta1")
	}
}

func TestConvert(t *testing.T) {
	forms := map[string]string{"v1": red, "v1beta1": oldRed, scheme.InternalVersion: red}
	each(t, func(t *testing.T, k kind.Kind) {
		for from, text := range forms {
			for to, want := range forms {
				obj := convert(t, k, decode(t, k, text), from)
				out := convert(t, k, obj, to)
				wantTree(t, from+" to "+to, k, out, want)
				if same := obj == out; same != (text == want) {
					t.Errorf("%s to %s: the object itself: %v, want %v", from, to, same, text == want)
				}
				wantTree(t, from+" to "+to+" and back", k, convert(t, k, out, from), text)
				if obj == out {
					continue
				}
				m := out.(meta.Object).GetObjectMeta()
				m.Labels["x"], m.Name = "changed", "changed"
				switch out := out.(type) {
				case *gadget:
					out.Spec.Finalizers[0] = "changed"
				case *oldGadget:
					out.Spec.Finalizers[0] = "changed"
				case *scheme.Unstructured:
					list, _ := scheme.At[[]any](out, "spec", "finalizers")
					list[0] = "changed"
				}
				wantTree(t, from+" after its "+to+" was changed", k, obj, text)
			}
		}
	})
}

func TestConvertRefuses(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		obj := decode(t, k, red)
		if out, err := k.Convert(t.Context(), obj, "v7"); !scheme.IsNotRegistered(err) || out != nil {
			t.Errorf("an unknown version: got %v, %v", out, err)
		}
		var strange meta.Typed = &other{}
		if _, ok := obj.(*scheme.Unstructured); ok {
			strange = &scheme.Unstructured{}
		}
		strange.GetTypeMeta().SetGroupVersionKind(v1.GroupVersion().WithKind("Other"))
		for _, version := range []string{"v1", "v1beta1", scheme.InternalVersion} {
			if out, err := k.Convert(t.Context(), strange, version); err == nil || out != nil {
				t.Errorf("an object of another kind as %s: got %v, %v, want an error", version, out, err)
			}
		}
	})
}

func TestDefaultAndCheck(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		for text, want := range map[string]string{
			`{"spec":{"size":-1}}`: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"size":-1,"color":"grey"}}`,
			red:                    red,
		} {
			obj := decode(t, k, text)
			if err := k.Default(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			wantTree(t, "with defaults", k, obj, want)
		}
		hub := func(text string) meta.Object {
			obj, err := kind.ToHub(t.Context(), k, decode(t, k, text))
			if err != nil {
				t.Fatal(err)
			}
			return obj
		}
		small := hub(`{"spec":{"size":-1}}`)
		if errs := k.Check(t.Context(), hub(red), nil, "v1"); len(errs) > 0 {
			t.Errorf("Check of a good object: got %v", errs)
		}
		for _, old := range []meta.Object{nil, hub(red)} {
			if errs := k.Check(t.Context(), small, old, "v1"); len(errs) != 1 || errs[0].Field != "spec.size" {
				t.Errorf("Check of a bad object over %v: got %v, want spec.size", old, errs)
			}
		}
	})
}

// TestRulesInTags: rules in tags are evaluated after the checks.
func TestRulesInTags(t *testing.T) {
	k := newTypes(t).Kind(meta.GroupKind{Group: gadgets.Group, Kind: "Other"})
	for _, tt := range []struct {
		now, before int64
		want        string
	}{
		{2, 2, "[]"},
		{1, 2, "[count: Invalid value: 1: never falls]"},
		{-1, 2, "[count: Invalid value: -1: must be greater than or equal to 0 count: Invalid value: -1: never falls]"},
	} {
		if errs := k.Check(t.Context(), &other{Count: tt.now}, &other{Count: tt.before}, "v1"); fmt.Sprint([]*field.Error(errs)) != tt.want {
			t.Errorf("Check of %d over %d: got %v, want %v", tt.now, tt.before, errs, tt.want)
		}
	}
	if errs := k.Check(t.Context(), &other{}, nil, "v1"); len(errs) > 0 {
		t.Errorf("Check of a new object: got %v", errs)
	}
}

// TestDefaultOfNothing: an empty object has no content yet.
func TestDefaultOfNothing(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		obj := k.New()
		if err := k.Default(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		if errs := k.Check(t.Context(), obj, nil, "v1"); len(errs) > 0 {
			t.Errorf("Check: got %v", errs)
		}
	})
}

func TestAppend(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		obj := decode(t, k, red)
		plain, err := k.Append([]byte("before"), obj, codec.Media{})
		if err != nil || !strings.HasPrefix(string(plain), "before{") || strings.HasSuffix(string(plain), "\n") {
			t.Errorf("JSON: got %q, %v, want it appended, without a newline", plain, err)
		}
		pretty, err := k.Append(nil, obj, codec.Media{Pretty: true})
		if err != nil || !strings.Contains(string(pretty), "\n  \"spec\": {") {
			t.Errorf("indented JSON: got %q, %v", pretty, err)
		}
		text, err := k.Append(nil, obj, codec.Media{Type: codec.YAML})
		if err != nil {
			t.Fatal(err)
		}
		again, err := k.Decode(codec.DecodeRequest{Data: text, Type: codec.YAML})
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		wantTree(t, "YAML", k, again.Object, red)
	})
}

func TestProtobuf(t *testing.T) {
	typed, dynamic := sorts(t)["typed"], sorts(t)["dynamic"]
	for _, text := range []string{red, oldRed} {
		data, err := typed.Append(nil, decode(t, typed, text), codec.Media{Type: codec.Protobuf})
		if err != nil || !codec.IsProtobuf(data) {
			t.Fatalf("got %q, %v", data, err)
		}
		again, err := typed.Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf})
		if err != nil {
			t.Fatal(err)
		}
		wantTree(t, "protobuf", typed, again.Object, text)
	}
	var status *meta.StatusError
	if _, err := dynamic.Append(nil, decode(t, dynamic, red), codec.Media{Type: codec.Protobuf}); !errors.As(err, &status) || status.Status.Code != 406 {
		t.Errorf("a kind without protobuf: got %v, want a 406", err)
	}
	if !kind.In(typed, "v1").Protobuf || kind.In(dynamic, "v1").Protobuf {
		t.Error("Protobuf: want it of the typed kind alone")
	}
	if unnumbered := newTypes(t).Kind(meta.GroupKind{Group: gadgets.Group, Kind: "Other"}); kind.In(unnumbered, "v1").Protobuf {
		t.Error("Protobuf of a type without numbers: got true")
	}
}

func TestTypes(t *testing.T) {
	types := newTypes(t)
	if k := types.Kind(meta.GroupKind{Group: gadgets.Group, Kind: "Nothing"}); k != nil {
		t.Errorf("an unknown kind: got %v, want nil", k)
	}
	var wg sync.WaitGroup
	got := make([]kind.Kind, 8)
	for i := range got {
		wg.Go(func() {
			got[i] = types.Kind(gadgets)
			for _, v := range got[i].Versions() {
				if v.Schema().Target().Properties["spec"] == nil {
					t.Errorf("%s has no spec", v.GVK)
				}
			}
		})
	}
	wg.Wait()
	for _, k := range got {
		if k != got[0] {
			t.Error("the same kind is made twice")
		}
	}
}
