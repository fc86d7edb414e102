package codec

import (
	"reflect"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ownershipOf returns what PeekOwners should find, by decoding.
func ownershipOf(m *meta.ObjectMeta) Ownership {
	text := func(s string) string { return string([]rune(s)) } // invalid UTF-8 is replaced
	o := Ownership{UID: text(string(m.UID)), Namespace: text(m.Namespace), Deleting: m.DeletionTimestamp != nil}
	for _, f := range m.Finalizers {
		o.Finalizers = append(o.Finalizers, text(f))
	}
	for _, r := range m.OwnerReferences {
		o.Owners = append(o.Owners, OwnerRef{APIVersion: text(r.APIVersion), Kind: text(r.Kind), Name: text(r.Name), UID: text(string(r.UID)),
			Blocks: r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion})
	}
	return o
}

// same reports whether o and other are equal, whatever the capacity of their slices.
func (o Ownership) same(other Ownership) bool {
	o.Owners, o.Finalizers = append([]OwnerRef{}, o.Owners...), append([]string{}, o.Finalizers...)
	other.Owners, other.Finalizers = append([]OwnerRef{}, other.Owners...), append([]string{}, other.Finalizers...)
	return reflect.DeepEqual(o, other)
}

// owned returns a pod with everything that PeekOwners looks for, and with fields of the same names
// at other places.
func owned() *corev1.Pod {
	now, yes, no := meta.Now(), true, false
	return &corev1.Pod{
		TypeMeta: meta.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: meta.ObjectMeta{
			Name: "p", Namespace: "n", UID: "u-1", DeletionTimestamp: &now, Finalizers: []string{"orphan", `a/"quoted"`},
			Annotations: map[string]string{"uid": "no", "ownerReferences": `[{"uid":"no"}]`},
			OwnerReferences: []meta.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "u-2", Controller: &yes, BlockOwnerDeletion: &yes},
				{APIVersion: "v1", Kind: "Node", Name: "m", UID: "u-3", BlockOwnerDeletion: &no},
				{APIVersion: "v1", Kind: "Node", Name: "o", UID: "u-4", Controller: &yes},
			},
		},
		Spec: corev1.PodSpec{NodeName: "uid"},
	}
}

func TestPeekOwners(t *testing.T) {
	pods := []*corev1.Pod{owned(), {TypeMeta: meta.TypeMeta{Kind: "Pod", APIVersion: "v1"}}}
	var got Ownership // used again and again
	for _, pod := range pods {
		want := ownershipOf(&pod.ObjectMeta)
		for name, encode := range map[string]func([]byte, meta.Object) ([]byte, error){
			"JSON":     func(dst []byte, obj meta.Object) ([]byte, error) { return AppendJSON(dst, obj) },
			"protobuf": func(dst []byte, obj meta.Object) ([]byte, error) { return AppendProto(dst, obj) },
		} {
			data, err := encode(nil, pod)
			if err != nil {
				t.Fatal(err)
			}
			if err := PeekOwners(data, &got); err != nil || !got.same(want) {
				t.Errorf("%s:\n got %+v, %v\nwant %+v", name, got, err, want)
			}
		}
	}
	for _, tt := range []struct {
		data string
		want Ownership
	}{
		{`{}`, Ownership{}},
		{`{"metadata":null}`, Ownership{}},
		{`{"metadata":{"uid":7,"ownerReferences":{},"finalizers":"x","deletionTimestamp":null}}`, Ownership{}},
		{`{"uid":"no","metadata":{"finalizers":[null,"a"],"ownerReferences":[null,{"uid":"u"}]}}`,
			Ownership{Finalizers: []string{"", "a"}, Owners: []OwnerRef{{}, {UID: "u"}}}},
	} {
		if err := PeekOwners([]byte(tt.data), &got); err != nil || !got.same(tt.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", tt.data, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `[]`, `{`, `{"metadata":{"uid":}}`, `{"metadata":{"ownerReferences":[{]}}`, "k8s\x00\x12\x05\x0a\x09"} {
		if err := PeekOwners([]byte(bad), &got); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// TestPeekOwnersAllocates: PeekOwners allocates nothing once the slices have room.
func TestPeekOwnersAllocates(t *testing.T) {
	pod := owned()
	pod.Finalizers = []string{"plain"}
	proto, err := AppendProto(nil, pod)
	if err != nil {
		t.Fatal(err)
	}
	text, err := AppendJSON(nil, pod)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"JSON": text, "protobuf": proto, "unowned": benchPod(t)} {
		var out Ownership
		look := func() {
			if err := PeekOwners(data, &out); err != nil {
				t.Fatal(err)
			}
		}
		look()
		if n := testing.AllocsPerRun(100, look); n > 0 {
			t.Errorf("%s: got %v allocs, want 0", name, n)
		}
	}
}

func BenchmarkPeekOwners(b *testing.B) {
	text, err := AppendJSON(nil, owned())
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{"owned": text, "unowned": benchPod(b)} {
		b.Run("object="+name, func(b *testing.B) {
			var out Ownership
			b.ReportAllocs()
			for b.Loop() {
				if err := PeekOwners(data, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzPeekOwners compares PeekOwners with decoding everything.
func FuzzPeekOwners(f *testing.F) {
	text, err := AppendJSON(nil, owned())
	if err != nil {
		f.Fatal(err)
	}
	proto, err := AppendProto(nil, owned())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(proto)
	factory := newTestFactory(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var got Ownership
		peeked := PeekOwners(data, &got)
		req := DecodeRequest{Data: data, Strict: true}
		if IsProtobuf(data) {
			req.Type = Protobuf
		}
		decoded, err := factory.Decode(req)
		if err != nil || len(decoded.Strict) > 0 || peeked != nil && IsProtobuf(data) {
			return
		}
		if peeked != nil {
			t.Fatalf("PeekOwners(%q): got %v of an object that can be decoded", data, peeked)
		}
		obj, ok := decoded.Object.(meta.Object)
		if !ok {
			return
		}
		if want := ownershipOf(obj.GetObjectMeta()); !got.same(want) {
			t.Fatalf("PeekOwners(%q):\n got %+v\nwant %+v", data, got, want)
		}
	})
}
