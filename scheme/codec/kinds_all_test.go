package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
)

func allKinds(t testing.TB) (*scheme.Scheme, *codec.Factory) {
	t.Helper()
	s := scheme.New()
	api.AddToScheme(s)
	s.AddKnownTypes(apidiscoveryv2.GroupVersion, &apidiscoveryv2.APIGroupDiscoveryList{}) // no kind of a resource
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return s, codec.NewFactory(s)
}

// checkKind sends obj through every encoding and back.
func checkKind(t *testing.T, f *codec.Factory, obj meta.Typed) {
	t.Helper()
	gvk := obj.GetTypeMeta().GroupVersionKind()
	if n, ok := obj.(interface{ NameNested() }); ok {
		n.NameNested() // as protobuf is decoded
	}
	want, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Append(nil, obj, codec.Media{})
	if err != nil || string(got) != string(want)+"\n" {
		t.Fatalf("JSON: %v\n got %s\nwant %s", err, got, want)
	}
	for _, m := range []codec.Media{{}, {Pretty: true}, {Type: codec.YAML}, {Type: codec.Protobuf}} {
		data, err := f.Append(nil, obj, m)
		var refused *meta.StatusError
		if m.Type == codec.Protobuf && errors.As(err, &refused) {
			continue // a kind of JSON only
		}
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		if m == (codec.Media{}) && !bytes.HasPrefix(data, []byte(`{"kind":"`+gvk.Kind+`","apiVersion":"`)) {
			t.Fatalf("kind and apiVersion do not come first: %s", data)
		}
		out, err := f.Decode(codec.DecodeRequest{Data: data, Type: m.Type, Default: gvk, Strict: true})
		if err != nil || len(out.Strict) > 0 || out.GVK != gvk {
			t.Fatalf("%v: decode: %v, %q, %v", m, err, out.Strict, out.GVK)
		}
		// Raw JSON inside an object is kept as it was written, so indented after Pretty.
		back, _ := codec.AppendJSON(nil, out.Object)
		if string(back) != string(want) || !m.Pretty && !reflect.DeepEqual(out.Object, obj) {
			t.Fatalf("%v:\n got %s\nwant %s", m, back, want)
		}
	}
}

func TestAllKinds(t *testing.T) {
	s, f := allKinds(t)
	for _, gvk := range s.AllKinds() {
		if _, err := s.NewObject(gvk); err != nil || gvk.Version == scheme.InternalVersion {
			continue
		}
		t.Run(gvk.String(), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) { // few are enough, as kinds have most of their types in common
				obj, _ := s.NewObject(gvk)
				sample.New(seed).Fill(obj)
				obj.GetTypeMeta().SetGroupVersionKind(gvk)
				checkKind(t, f, obj)
			}
		})
	}
}

// FuzzAllKinds compares the encodings of every kind with encoding/json.
func FuzzAllKinds(f *testing.F) {
	s, factory := allKinds(f)
	kinds := s.AllKinds()
	f.Add(uint64(1), uint(0))
	f.Fuzz(func(t *testing.T, seed uint64, n uint) {
		gvk := kinds[n%uint(len(kinds))]
		obj, err := s.NewObject(gvk)
		if err != nil || gvk.Version == scheme.InternalVersion {
			return
		}
		sample.New(seed).Fill(obj)
		obj.GetTypeMeta().SetGroupVersionKind(gvk)
		checkKind(t, factory, obj)
	})
}
