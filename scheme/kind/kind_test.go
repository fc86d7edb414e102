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

// oldGadget is gadget as version v1beta1 shows it: the color is called otherwise, and stands elsewhere.
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

// declaration is gadget without a Go type.
func declaration(tb testing.TB) kind.Dynamic {
	return kind.Dynamic{
		GroupKind: gadgets,
		Versions: []kind.DynamicVersion{
			{Name: "v1", Schema: parse(tb, `{"type":"object","required":["metadata"],"properties":{`+
				fmt.Sprintf(spec, `"color":{"type":"string","default":"grey"},`)+`,`+status+`}}`), Selectable: []string{"spec.color"}},
			{Name: "v1beta1", Schema: parse(tb, `{"type":"object","properties":{"colour":{"type":"string"},`+
				fmt.Sprintf(spec, "")+`,`+status+`}}`)},
		},
		Convert: func(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
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
		},
	}
}

// sorts are the same kind in both ways of making one.
func sorts(tb testing.TB) map[string]kind.Kind {
	tb.Helper()
	dynamic, err := declaration(tb).New()
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]kind.Kind{"typed": newTypes(tb).Kind(gadgets), "dynamic": dynamic}
}

// each runs a test with either sort.
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

// tree is an object as JSON whose order says nothing.
func tree(tb testing.TB, k kind.Kind, obj meta.Typed) any {
	tb.Helper()
	data, err := k.Append(nil, obj, codec.Media{})
	if err != nil {
		tb.Fatal(err)
	}
	v, _, err := codec.DecodeTree(data, false)
	if err != nil {
		tb.Fatalf("%v in %s", err, data)
	}
	drop(v)
	return v
}

// drop removes what is empty: Go types write empty structs.
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
	v, _, err := codec.DecodeTree([]byte(want), false)
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

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		typ        codec.Type
		strict     bool
		want       string // "" for an error
		gvk        meta.GroupVersionKind
		found      string // of the strict messages
	}{
		{name: "whole", body: red, want: red, gvk: v1},
		{name: "other version", body: oldRed, want: oldRed, gvk: v1beta1},
		{name: "no kind", body: `{"spec":{"size":3}}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"size":3}}`},
		{name: "no version", body: `{"kind":"Gadget"}`, gvk: v1, want: `{"kind":"Gadget","apiVersion":"test.example.com/v1"}`},
		{name: "null metadata", body: `{"metadata":null}`, gvk: v1, want: `{"kind":"Gadget","apiVersion":"test.example.com/v1"}`},
		{name: "YAML", typ: codec.YAML, body: "apiVersion: test.example.com/v1beta1\nkind: Gadget\ncolour: red\n", gvk: v1beta1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1beta1","colour":"red"}`},
		{name: "unknown fields", body: `{"spec":{"size":3,"shade":[{}]},"x":1}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"size":3}}`},
		{name: "unknown fields, strict", strict: true, body: `{"spec":{"size":3,"shade":[{}]},"x":1}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"size":3}}`, found: `unknown field "spec.shade"; unknown field "x"`},
		{name: "unknown in metadata, strict", strict: true, body: `{"metadata":{"nam":"a"}}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1"}`, found: `unknown field "metadata.nam"`},
		{name: "twice", body: `{"spec":{"color":"a","color":"b"}}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"color":"b"}}`},
		{name: "twice, strict", strict: true, body: `{"spec":{"color":"a","color":"b"}}`, gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"color":"b"}}`, found: `duplicate field "spec.color"`},
		{name: "twice in YAML, strict", strict: true, typ: codec.YAML, body: "spec:\n  color: a\n  color: b\n", gvk: v1,
			want: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"color":"b"}}`, found: "yaml: unmarshal errors:\n  line 3: key \"color\" already set in map"},
		{name: "empty", body: ``},
		{name: "half", body: `{"spec":`},
		{name: "no object", body: `[]`},
		{name: "text", body: `"x"`},
		{name: "no YAML", typ: codec.YAML, body: "a: [", want: ""},
		{name: "version is no text", body: `{"apiVersion":5}`},
		{name: "no group version", body: `{"apiVersion":"a/b/c"}`},
		{name: "unknown version", body: `{"apiVersion":"test.example.com/v7"}`},
		{name: "unknown group", body: `{"apiVersion":"else.example.com/v1"}`},
		{name: "bad metadata", body: `{"metadata":{"name":5}}`},
		{name: "metadata is no object", body: `{"metadata":"a"}`},
		{name: "protobuf that is none", typ: codec.Protobuf, body: red},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, k kind.Kind) {
				out, err := k.Decode(codec.DecodeRequest{Data: []byte(tt.body), Type: tt.typ, Default: v1, Strict: tt.strict})
				if tt.want == "" {
					if err == nil {
						t.Errorf("got %v, want an error", tree(t, k, out.Object))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if out.GVK != tt.gvk || out.Object.GetTypeMeta().GroupVersionKind() != tt.gvk {
					t.Errorf("got %v, the object %v, want %v", out.GVK, out.Object.GetTypeMeta().GroupVersionKind(), tt.gvk)
				}
				wantTree(t, "the object", k, out.Object, tt.want)
				if found := strings.Join(out.Strict, "; "); found != tt.found {
					t.Errorf("found %q, want %q", found, tt.found)
				}
			})
		})
	}
}

// TestDecodeOfAnotherKind: whoever decodes can tell, by the error or by the GVK.
func TestDecodeOfAnotherKind(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		want := v1.GroupVersion().WithKind("Other")
		out, err := k.Decode(codec.DecodeRequest{Data: []byte(`{"apiVersion":"test.example.com/v1","kind":"Other"}`), Default: v1})
		if out.GVK != want || err != nil && !scheme.IsNotRegistered(err) {
			t.Fatalf("got %v, %v, want %v, or that it is not known", out.GVK, err, want)
		}
		if err == nil {
			if _, err = kind.ToHub(t.Context(), k, out.Object); err == nil {
				t.Error("an object of another kind converts to the hub")
			}
		}
	})
}

// TestDecodeAs takes an object for a kind whatever it says, as strategic merge patches want it.
func TestDecodeAs(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		out, err := k.Decode(codec.DecodeRequest{Data: []byte(`{"apiVersion":"x/v7","kind":"Other","spec":{"size":1}}`), As: v1})
		if err != nil {
			t.Fatal(err)
		}
		if out.GVK != v1 {
			t.Errorf("got %v, want %v", out.GVK, v1)
		}
		wantTree(t, "the object", k, out.Object, `{"apiVersion":"test.example.com/v1","kind":"Gadget","spec":{"size":1}}`)
	})
}

// TestDecodedOwnsItself: the bytes of a request may be used again.
func TestDecodedOwnsItself(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		data := []byte(red)
		out, err := k.Decode(codec.DecodeRequest{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		clear(data)
		wantTree(t, "after its bytes were overwritten", k, out.Object, red)
	})
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

func TestConverters(t *testing.T) {
	boom := errors.New("boom")
	for _, tt := range []struct {
		name string
		fn   func(ctx context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error)
		says string // "" for success
	}{
		{"none", nil, ""},
		{"failing", func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) { return nil, boom },
			"conversion from test.example.com/v1 to test.example.com/v1beta1: boom"},
		{"one that ignores the version", func(_ context.Context, u *scheme.Unstructured, _ string) (*scheme.Unstructured, error) { return u, nil },
			"conversion from test.example.com/v1 to test.example.com/v1beta1: the result is a test.example.com/v1, Kind=Gadget"},
		{"one that makes another kind", func(_ context.Context, u *scheme.Unstructured, version string) (*scheme.Unstructured, error) {
			u.APIVersion, u.Kind = gadgets.Group+"/"+version, "Other"
			return u, nil
		}, "Kind=Other"},
		{"one that returns nothing", func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) { return nil, nil },
			"the result is nothing"},
		{"one that waits", func(ctx context.Context, _ *scheme.Unstructured, _ string) (*scheme.Unstructured, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := declaration(t)
			d.Convert = tt.fn
			k, err := d.New()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			obj := decode(t, k, red)
			out, err := k.Convert(ctx, obj, "v1beta1")
			wantTree(t, "the object that was given", k, obj, red)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantTree(t, "the result", k, out, strings.Replace(red, "/v1", "/v1beta1", 1))
				return
			}
			if err == nil || out != nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v, want an error that says %q", out, err, tt.says)
			}
			if tt.name == "failing" && !errors.Is(err, boom) {
				t.Errorf("got %v, want it to wrap the converter's error", err)
			}
			if same, err := k.Convert(ctx, obj, "v1"); same != obj || err != nil {
				t.Errorf("to its own version: got %v, %v, want the object, unasked", same, err)
			}
		})
	}
}

func TestDefaultAndCheck(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		for text, want := range map[string]string{
			`{"spec":{"size":-1}}`: `{"kind":"Gadget","apiVersion":"test.example.com/v1","spec":{"size":-1,"color":"grey"}}`,
			red:                    red,
		} {
			obj := decode(t, k, text)
			k.Default(obj)
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
		if errs := k.Check(hub(red), nil); len(errs) > 0 {
			t.Errorf("Check of a good object: got %v", errs)
		}
		for _, old := range []meta.Object{nil, hub(red)} {
			if errs := k.Check(small, old); len(errs) != 1 || errs[0].Field != "spec.size" {
				t.Errorf("Check of a bad object over %v: got %v, want spec.size", old, errs)
			}
		}
	})
}

// TestDefaultOfNothing: an empty object has no content yet.
func TestDefaultOfNothing(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		obj := k.New()
		k.Default(obj)
		if errs := k.Check(obj, nil); len(errs) > 0 {
			t.Errorf("Check: got %v", errs)
		}
	})
}

func TestAppend(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		obj := decode(t, k, red)
		plain, err := k.Append([]byte("before"), obj, codec.Media{})
		if err != nil || !strings.HasPrefix(string(plain), "before{") || strings.HasSuffix(string(plain), "\n") {
			t.Errorf("JSON: got %q, %v, want it behind what is there, without a newline", plain, err)
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
	if !kind.In(typed, "v1").HasProtobuf() || kind.In(dynamic, "v1").HasProtobuf() {
		t.Error("HasProtobuf: want it of the typed kind alone")
	}
	if unnumbered := newTypes(t).Kind(meta.GroupKind{Group: gadgets.Group, Kind: "Other"}); kind.In(unnumbered, "v1").HasProtobuf() {
		t.Error("HasProtobuf of a type without numbers: got true")
	}
}

func TestKeeper(t *testing.T) {
	const (
		old = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"},` +
			`"spec":{"color":"old","size":1,"finalizers":["old"]},"status":{"phase":"Old"}}`
		bare = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"}}`
		sent = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a","labels":{"new":"yes"}},` +
			`"spec":{"color":"new","size":2,"finalizers":["new"]},"status":{"phase":"New"}}`
	)
	result := func(color, size, finalizers, phase string) string {
		return `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a","labels":{"new":"yes"}},` +
			`"spec":{` + strings.Trim(color+size+finalizers, ",") + `},"status":{` + phase + `}}`
	}
	const (
		newColor, newSize, newFinalizers, newPhase = `"color":"new",`, `"size":2,`, `"finalizers":["new"],`, `"phase":"New"`
		oldColor, oldSize, oldFinalizers, oldPhase = `"color":"old",`, `"size":1,`, `"finalizers":["old"],`, `"phase":"Old"`
	)
	for _, tt := range []struct {
		name   string
		paths  []string
		others bool
		old    string
		want   string
	}{
		{"nothing", nil, false, old, result(newColor, newSize, newFinalizers, newPhase)},
		{"status", []string{"status"}, false, old, result(newColor, newSize, newFinalizers, oldPhase)},
		{"all but status", []string{"status"}, true, old, result(oldColor, oldSize, oldFinalizers, newPhase)},
		{"below spec", []string{"spec.finalizers"}, false, old, result(newColor, newSize, oldFinalizers, newPhase)},
		{"all but what is below spec", []string{"spec.finalizers"}, true, old, result(oldColor, oldSize, newFinalizers, oldPhase)},
		{"two", []string{"status", "spec.finalizers"}, false, old, result(newColor, newSize, oldFinalizers, oldPhase)},
		{"all but two", []string{"spec.finalizers", "status.phase"}, true, old, result(oldColor, oldSize, newFinalizers, newPhase)},
		{"everything", nil, true, old, result(oldColor, oldSize, oldFinalizers, oldPhase)},
		{"what was not there", []string{"status", "spec.finalizers"}, false, bare, result(newColor, newSize, "", "")},
		{"all but what was not there", []string{"spec.finalizers"}, true, bare, result("", "", newFinalizers, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, k kind.Kind) {
				paths := append([]string(nil), tt.paths...)
				keep, err := k.Keeper(paths, tt.others)
				if err != nil {
					t.Fatal(err)
				}
				obj, before := decode(t, k, sent).(meta.Object), decode(t, k, tt.old).(meta.Object)
				keep(obj, before)
				want, _, err := codec.DecodeTree([]byte(tt.want), false)
				if err != nil {
					t.Fatal(err)
				}
				drop(want)
				if got := tree(t, k, obj); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				wantTree(t, "the old object", k, before, tt.old)
				if !reflect.DeepEqual(paths, append([]string(nil), tt.paths...)) {
					t.Errorf("the paths are changed: %v", paths)
				}
				if u, ok := obj.(*scheme.Unstructured); ok && tt.others { // what was kept is a copy
					_ = u.Set("changed", "spec", "color")
				} else if g, ok := obj.(*gadget); ok && len(g.Spec.Finalizers) > 0 {
					g.Spec.Finalizers[0] = "changed"
				}
				wantTree(t, "the old object after a change of the new", k, before, tt.old)
			})
		})
	}
}

// TestKeeperRefuses: a misspelled path is found when the server starts.
func TestKeeperRefuses(t *testing.T) {
	k := sorts(t)["typed"]
	for _, path := range []string{"statuses", "spec.nothing", "spec.color.shade", ""} {
		for _, others := range []bool{false, true} {
			if _, err := k.Keeper([]string{path}, others); err == nil || !strings.Contains(err.Error(), "Gadget") {
				t.Errorf("Keeper(%q, %v): got %v, want an error that names the kind", path, others, err)
			}
		}
	}
}

func TestDynamicRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *kind.Dynamic)
	}{
		{"no versions", func(d *kind.Dynamic) { d.Versions = nil }},
		{"an unknown hub", func(d *kind.Dynamic) { d.Hub = "v7" }},
		{"a version twice", func(d *kind.Dynamic) { d.Versions[1].Name = "v1" }},
	} {
		d := declaration(t)
		tt.change(&d)
		if k, err := d.New(); err == nil || k != nil {
			t.Errorf("%s: got %v, %v, want an error", tt.name, k, err)
		}
	}
}

// TestDynamicHub: the hub need not be the preferred version.
func TestDynamicHub(t *testing.T) {
	d := declaration(t)
	d.Hub = "v1beta1"
	k, err := d.New()
	if err != nil {
		t.Fatal(err)
	}
	if got := k.New().GetTypeMeta().GroupVersionKind(); got != v1beta1 {
		t.Errorf("New: got a %v", got)
	}
	hub, err := kind.ToHub(t.Context(), k, decode(t, k, red))
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, "the hub", k, hub, oldRed)
	if k.Versions()[0].GVK != v1 {
		t.Errorf("preferred: got %v, want v1", k.Versions()[0].GVK)
	}
}

// TestDynamicWithoutSchema keeps everything.
func TestDynamicWithoutSchema(t *testing.T) {
	k, err := kind.Dynamic{GroupKind: gadgets, Versions: []kind.DynamicVersion{{Name: "v1"}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"kind":"Gadget","apiVersion":"test.example.com/v1","metadata":{"name":"a"},"any":{"thing":[1,{"x":null}]}}`
	out, err := k.Decode(codec.DecodeRequest{Data: []byte(text), Strict: true})
	if err != nil || len(out.Strict) > 0 {
		t.Fatalf("got %v, %v", out.Strict, err)
	}
	k.Default(out.Object)
	wantTree(t, "the object", k, out.Object, text)
	if errs := k.Check(out.Object.(meta.Object), nil); len(errs) > 0 {
		t.Errorf("Check: got %v", errs)
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
