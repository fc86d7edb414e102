package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
)

func TestWithoutManagedFields(t *testing.T) {
	const fields = `"managedFields":[{"manager":"a","fieldsV1":{"f:data":{"f:]}\"":{}}}}]`
	for _, tt := range []struct{ in, want string }{
		{`{"metadata":{"name":"a",` + fields + `},"spec":1}`, `{"metadata":{"name":"a"},"spec":1}`},
		{`{"metadata":{` + fields + `,"name":"a"},"spec":1}`, `{"metadata":{"name":"a"},"spec":1}`},
		{`{"metadata":{"a":{},` + fields + `,"b":[]}}`, `{"metadata":{"a":{},"b":[]}}`},
		{`{"metadata":{` + fields + `}}`, `{"metadata":{}}`},
		{`{"metadata":{"managedFields":null,"a":1}}`, `{"metadata":{"a":1}}`},
		{` { "metadata" : { "a" : 1 , "managedFields" : [ ] } } `, ` { "metadata" : { "a" : 1 } } `},
		{"{\n \"metadata\": {\n  \"managedFields\": [],\n  \"name\": \"a\"\n }\n}\n", "{\n \"metadata\": {\n  \"name\": \"a\"\n }\n}\n"},
		{`{"metadata":{"m\u0061nagedFields":[],"a":1}}`, `{"metadata":{"a":1}}`},
		// Every occurrence of a repeated member is removed.
		{`{"metadata":{"managedFields":[],"managedFields":[1]}}`, `{"metadata":{}}`},
		{`{"metadata":{"a":1,"managedFields":[],"managedFields":[1]}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{"managedFields":[],"a":1,"managedFields":[],"managedFields":[],"b":2,"managedFields":2}}`, `{"metadata":{"a":1,"b":2}}`},
		{`{"metadata":{"managedFields":[]},"a":1,"metadata":{"managedFields":[],"b":2}}`, `{"metadata":{},"a":1,"metadata":{"b":2}}`},
	} {
		got, err := codec.WithoutManagedFields([]byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("WithoutManagedFields(%s):\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
		}
		if again, err := codec.WithoutManagedFields(got); err != nil || &again[0] != &got[0] {
			t.Errorf("WithoutManagedFields(%s): got %s, %v, want the same bytes", got, again, err)
		}
	}
	for _, in := range []string{
		`{}`, `{"metadata":{}}`, `{"metadata":"managedFields"}`, `{"metadata":null}`, `{"metadata":[{"managedFields":[]}]}`, `{"managedFields":[]}`,
		`{"metadata":{"annotations":{"managedFields":"x"},"managedfields":[]}}`, `{"spec":{"metadata":{"managedFields":[]}}}`, "k8s\x00",
	} {
		if got, err := codec.WithoutManagedFields([]byte(in)); err != nil || string(got) != in {
			t.Errorf("WithoutManagedFields(%q): got %q, %v, want it as it is", in, got, err)
		}
	}
	for _, in := range []string{
		``, `[]`, `null`, `{`, `{"metadata":{"managedFields":[]}`, `{"metadata":{"managedFields":[],}}`, `{"metadata":{"managedFields":[}}}`,
		`{"metadata":{"managedFields":[]}} {}`, `{"metadata":{"managedFields"}}`, "k8s\x00\xff", "k8s\x00\x12\x02\x0a\x05", "k8s\x00\x12\x04\x0a\x02\x8a\x01",
	} {
		if got, err := codec.WithoutManagedFields([]byte(in)); err == nil {
			t.Errorf("WithoutManagedFields(%q): got %q, want an error", in, got)
		}
	}
}

// ownedSample returns a random object of a kind with two entries of managedFields; nil if the kind
// has no object metadata.
func ownedSample(t testing.TB, s *scheme.Scheme, gvk meta.GroupVersionKind, seed uint64) meta.Object {
	t.Helper()
	typed, err := s.NewObject(gvk)
	if err != nil {
		t.Fatal(err)
	}
	obj, ok := typed.(meta.Object)
	if !ok {
		return nil
	}
	sample.New(seed).Fill(obj)
	obj.GetTypeMeta().SetGroupVersionKind(gvk)
	entry := meta.ManagedFieldsEntry{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &meta.FieldsV1{Raw: []byte(`{"f:spec":{".":{},"k:{\"a\":\"}\"}":{}}}`)}}
	obj.GetObjectMeta().ManagedFields = []meta.ManagedFieldsEntry{entry, entry}
	return obj
}

// TestWithoutManagedFieldsOfAllKinds: the result equals, byte for byte, the encoding of the object
// without managedFields.
func TestWithoutManagedFieldsOfAllKinds(t *testing.T) {
	s, f := allKinds(t)
	tried := 0
	for _, gvk := range s.AllKinds() {
		if _, err := s.NewObject(gvk); err != nil || gvk.Version == scheme.InternalVersion {
			continue
		}
		for seed := range uint64(4) {
			obj := ownedSample(t, s, gvk, seed)
			if obj == nil {
				break
			}
			owned := obj.GetObjectMeta().ManagedFields
			for _, m := range []codec.Media{{}, {Type: codec.Protobuf}} {
				obj.GetObjectMeta().ManagedFields = owned
				data, err := f.Append(nil, obj, m)
				if refused := (*meta.StatusError)(nil); errors.As(err, &refused) {
					continue // a kind of JSON only
				}
				before := bytes.Clone(data)
				got, cutErr := codec.WithoutManagedFields(data)
				obj.GetObjectMeta().ManagedFields = nil
				want, wantErr := f.Append(nil, obj, m)
				if err := errors.Join(err, cutErr, wantErr); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s %s: %v\n got %q\nwant %q", gvk, m.Type, err, got, want)
				}
				if !bytes.Equal(data, before) || cap(got) > len(want)+8 {
					t.Errorf("%s %s: changed what it was given, or takes %d bytes for %d", gvk, m.Type, cap(got), len(want))
				}
				if same, err := codec.WithoutManagedFields(want); err != nil || &same[0] != &want[0] {
					t.Errorf("%s %s: got other bytes for an object that has none (%v)", gvk, m.Type, err)
				}
				tried++
			}
		}
	}
	if tried < 100 {
		t.Errorf("tried %d objects, want one of each kind at least", tried)
	}
}

func TestWithoutManagedFieldsAllocates(t *testing.T) {
	s, f := allKinds(t)
	obj := ownedSample(t, s, meta.GroupVersionKind{Version: "v1", Kind: "Pod"}, 1)
	for _, m := range []codec.Media{{}, {Type: codec.Protobuf}} {
		data, err := f.Append(nil, obj, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []float64{1, 0} { // the second time there are no managedFields
			var out []byte
			if n := testing.AllocsPerRun(100, func() { out, err = codec.WithoutManagedFields(data) }); n > want || err != nil {
				t.Errorf("%s: got %v allocs, %v, want %v", m.Type, n, err, want)
			}
			data = out
		}
	}
}

// FuzzWithoutManagedFields compares cutting in JSON with decoding, removing and encoding.
func FuzzWithoutManagedFields(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"spec":{"managedFields":1}}`))
	f.Add([]byte(`{"metadata":{"managedFields":[],"managedFields":[],"a":1,"m\u0061nagedFields":0},"metadata":{"managedFields":1 }}`))
	f.Add([]byte(`{"metadata":"managedFields" , "metadata" : { "managedFields" : {"a":[1,2,{"b":null}]} , "x":-1.5e3 } }`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if codec.IsProtobuf(data) {
			return
		}
		got, err := codec.WithoutManagedFields(data)
		tree, _, treeErr := codec.DecodeTree(data, false, nil)
		object, ok := tree.(map[string]any)
		if err != nil {
			if treeErr == nil && ok {
				t.Fatalf("WithoutManagedFields(%q): %v", data, err)
			}
			return
		}
		if treeErr != nil { // a number that is beyond a float64
			return
		}
		if m, ok := object["metadata"].(map[string]any); ok {
			delete(m, "managedFields")
		}
		left, _, err := codec.DecodeTree(got, false, nil)
		if err != nil || !reflect.DeepEqual(left, tree) {
			t.Fatalf("WithoutManagedFields(%q): got %q, %v, want %v", data, got, err, tree)
		}
		if again, err := codec.WithoutManagedFields(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("WithoutManagedFields(%q): got %q, %v, want it as it is", got, again, err)
		}
	})
}

// FuzzWithoutManagedFieldsProto compares cutting in protobuf with decoding, removing and encoding.
func FuzzWithoutManagedFieldsProto(f *testing.F) {
	s, factory := allKinds(f)
	kinds := []meta.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "ConfigMap"}, {Group: "apps", Version: "v1", Kind: "Deployment"}}
	for seed, gvk := range kinds {
		data, err := codec.AppendProto(nil, ownedSample(f, s, gvk, uint64(seed)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	repeated := protowire.AppendBytes([]byte{1<<3 | 2}, []byte("\x8a\x01\x00\x0a\x01a\x8a\x01\x02\x0a\x00")) // metadata: managedFields, name, managedFields
	f.Add(protowire.AppendBytes([]byte("k8s\x00\x12"), append(repeated, repeated...)))
	f.Add([]byte("k8s\x00\x12\x00\x12\x85\x80\x00\x0a\x83\x00\x8a\x01\x00")) // lengths in more bytes than they need
	f.Fuzz(func(t *testing.T, data []byte) {
		if !codec.IsProtobuf(data) {
			return
		}
		got, cutErr := codec.WithoutManagedFields(data)
		if body, err := codec.ProtoBody(data); err == nil && cutErr != nil { // of several messages only the last counts
			data = protowire.AppendBytes([]byte("k8s\x00\x12"), body)
			got, cutErr = codec.WithoutManagedFields(data)
		}
		for _, gvk := range kinds {
			decode := func(data []byte) (meta.Object, error) {
				out, err := factory.Decode(codec.DecodeRequest{Data: data, Type: codec.Protobuf, Default: gvk})
				if err != nil {
					return nil, err
				}
				obj, ok := out.Object.(meta.Object)
				if !ok {
					return nil, errors.New("no object")
				}
				return obj, nil
			}
			want, err := decode(data)
			if err != nil {
				continue
			}
			left, err := decode(got)
			if err := errors.Join(cutErr, err); err != nil {
				t.Fatalf("WithoutManagedFields(%q): got %q, %v", data, got, err)
			}
			want.GetObjectMeta().ManagedFields = nil
			a, aErr := codec.AppendProto(nil, left)
			b, bErr := codec.AppendProto(nil, want)
			if err := errors.Join(aErr, bErr); err != nil || !bytes.Equal(a, b) {
				t.Fatalf("WithoutManagedFields(%q): got %q, %v, want %q", data, a, err, b)
			}
		}
	})
}

func BenchmarkWithoutManagedFields(b *testing.B) {
	s, f := allKinds(b)
	obj := ownedSample(b, s, meta.GroupVersionKind{Version: "v1", Kind: "Pod"}, 1)
	for _, m := range []codec.Media{{}, {Type: codec.Protobuf}} {
		data, err := f.Append(nil, obj, m)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("form=%s", strings.TrimPrefix(m.Type.String(), "application/")), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := codec.WithoutManagedFields(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
