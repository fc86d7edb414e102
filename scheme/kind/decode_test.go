package kind_test

import (
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

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

// TestDecodeOfAnotherKind: the error or the GVK says that the object has another kind.
func TestDecodeOfAnotherKind(t *testing.T) {
	each(t, func(t *testing.T, k kind.Kind) {
		want := v1.GroupVersion().WithKind("Other")
		out, err := k.Decode(codec.DecodeRequest{Data: []byte(`{"apiVersion":"test.example.com/v1","kind":"Other"}`), Default: v1})
		if out.GVK != want || err != nil && !scheme.IsNotRegistered(err) {
			t.Fatalf("got %v, %v, want %v, or an error that it is not registered", out.GVK, err, want)
		}
		if err == nil {
			if _, err = kind.ToHub(t.Context(), k, out.Object); err == nil {
				t.Error("an object of another kind converts to the hub")
			}
		}
	})
}

// TestDecodeAs decodes an object as a kind, whatever kind the object names, as strategic merge
// patches need it.
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

// TestDecodedOwnsItself: the decoded object does not share the bytes of the request.
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
