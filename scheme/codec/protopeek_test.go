package codec

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/sample"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// selectable are the paths by which resources of the core group are selected, by kind; see
// registry/core.
var selectable = map[string][]string{
	"Event": {
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
		"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
		"reportingComponent", "source.component", "type",
	},
	"Namespace": {"status.phase"},
	"Node":      {"spec.unschedulable"},
	"Pod": {
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.nominatedNodeName",
	},
	"Secret":  {"type"},
	"Service": {"spec.clusterIP", "spec.type"},
}

// allPaths returns a path to everything below t that is not in a list, and one to a missing field.
func allPaths(t *typeinfo.Type) []string {
	paths := []string{"nowhere", "metadata.nowhere.at.all"}
	var walk func(t *typeinfo.Type, prefix string, depth int)
	walk = func(t *typeinfo.Type, prefix string, depth int) {
		if depth > 5 {
			return // some types hold themselves
		}
		for _, f := range t.Fields {
			path := prefix + f.Name
			paths = append(paths, path, path+".nowhere")
			switch f.Type.Kind {
			case typeinfo.Struct:
				walk(f.Type, path+".", depth+1)
			case typeinfo.Map:
				paths = append(paths, path+".a")
				if f.Type.Elem.Kind == typeinfo.Struct {
					walk(f.Type.Elem, path+".a.", depth+1)
				}
			}
		}
	}
	walk(t, "", 0)
	return paths
}

// peekPlainly is the plain twin of ProtoPeeker: it decodes the object and peeks into its JSON.
func peekPlainly(t testing.TB, f *Factory, data []byte, def meta.GroupVersionKind, paths []string) (Peek, error) {
	t.Helper()
	decoded, err := f.Decode(DecodeRequest{Data: data, Type: Protobuf, Default: def})
	if err != nil {
		return Peek{}, err
	}
	// The names in the envelope need not be those of the object, if it was decoded as the default.
	e, err := parseEnvelope(data)
	if err != nil {
		t.Fatalf("%x was decoded: %v", data, err)
	}
	decoded.Object.GetTypeMeta().Kind, decoded.Object.GetTypeMeta().APIVersion = string(e.kind), string(e.apiVersion)
	text, err := AppendJSON(nil, decoded.Object)
	if err != nil {
		return Peek{}, err
	}
	var out Peek
	if err := NewPeeker(paths...).Peek(text, &out); err != nil {
		t.Fatalf("Peek(%s): %v", text, err)
	}
	out.Head, out.Splice, out.Metadata, out.Version = 0, 0, Span{}, Span{}
	return out, nil
}

// comparePeeks compares got with want; paths name the fields.
func comparePeeks(t testing.TB, got, want Peek, paths []string) {
	t.Helper()
	for i, path := range paths {
		if got.Fields[i] != want.Fields[i] {
			t.Errorf("%s: got %q, want %q", path, got.Fields[i], want.Fields[i])
		}
	}
	if !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("labels: got %q, want %q", got.Labels, want.Labels)
	}
	got.Fields, got.Labels, want.Fields, want.Labels = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestProtoPeek(t *testing.T) {
	gone, grace := meta.Now(), int64(30)
	data, err := AppendProto(nil, &corev1.Pod{
		TypeMeta: meta.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: meta.ObjectMeta{
			Name: "web-0", GenerateName: "web-", Namespace: "team", UID: "5f0c", ResourceVersion: "12", Generation: 1234,
			DeletionTimestamp: &gone, Labels: map[string]string{"tier": "front", "app": "web"},
		},
		Spec:   corev1.PodSpec{NodeName: "node-1", HostNetwork: true, TerminationGracePeriodSeconds: &grace},
		Status: corev1.PodStatus{Phase: "Running"},
	})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"kind", "apiVersion", "metadata.name", "metadata.generation", "metadata.deletionTimestamp", "metadata.labels.tier",
		"spec.nodeName", "spec.hostNetwork", "spec.hostPID", "spec.terminationGracePeriodSeconds", "status.phase", "spec",
	}
	want := Peek{
		Kind: "Pod", APIVersion: "v1", Name: "web-0", GenerateName: "web-", Namespace: "team", UID: "5f0c", ResourceVersion: "12",
		Generation: 1234, Deleting: true, Labels: []Label{{"app", "web"}, {"tier", "front"}},
		Fields: []string{
			"Pod", "v1", "web-0", "1234", gone.UTC().Format("2006-01-02T15:04:05Z"), "front", "node-1", "true", "", "30", "Running", "",
		},
	}
	p := NewProtoPeeker(typeinfo.For[corev1.Pod], paths...)
	var got Peek
	for range 2 { // the second time into a used Peek
		if err := p.Peek(data, &got); err != nil {
			t.Fatal(err)
		}
		comparePeeks(t, got, want, paths)
	}
	for _, s := range []string{got.Kind, got.Name, got.Labels[1].Value, got.Fields[6]} {
		if at := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(&data[0])); at >= uintptr(len(data)) {
			t.Errorf("%q is not a part of the data", s)
		}
	}
	if err := p.Peek([]byte("k8s\x00\x12\x00"), &got); err != nil {
		t.Fatal(err)
	}
	comparePeeks(t, got, Peek{Fields: make([]string, len(paths))}, paths)
}

// TestProtoPeekKinds: a ProtoPeeker finds in every kind, object and path what a Peeker finds in the
// JSON of the same object.
func TestProtoPeekKinds(t *testing.T) {
	s := scheme.New()
	api.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	f := NewFactory(s)
	for _, gvk := range s.AllKinds() {
		obj, err := s.NewObject(gvk)
		if _, isObject := obj.(meta.Object); err != nil || !isObject || gvk.Version == scheme.InternalVersion {
			continue
		}
		t.Run(gvk.String(), func(t *testing.T) {
			paths := allPaths(s.Type(gvk))
			for _, path := range selectable[gvk.Kind] {
				if gvk.Group == "" && !slices.Contains(paths, path) {
					t.Errorf("%s is not among the paths", path)
				}
			}
			p := NewProtoPeeker(func() *typeinfo.Type { return s.Type(gvk) }, paths...)
			for seed := range uint64(20) {
				obj, _ := s.NewObject(gvk)
				if seed > 0 { // the first object is empty
					sample.New(seed).Fill(obj)
				}
				obj.GetTypeMeta().SetGroupVersionKind(gvk)
				checkProtoPeek(t, f, p, obj, paths)
			}
		})
	}
}

func checkProtoPeek(t *testing.T, f *Factory, p *ProtoPeeker, obj meta.Typed, paths []string) {
	t.Helper()
	data, err := AppendProto(nil, obj)
	if err != nil {
		t.Fatal(err)
	}
	want, err := peekPlainly(t, f, data, meta.GroupVersionKind{}, paths)
	if err != nil {
		t.Fatal(err)
	}
	var got Peek
	if err := p.Peek(data, &got); err != nil {
		t.Fatal(err)
	}
	comparePeeks(t, got, want, paths)
}

func TestProtoPeekShapes(t *testing.T) {
	f := newTestFactory(t)
	paths := allPaths(typeinfo.For[Odd]())
	p := NewProtoPeeker(typeinfo.For[Odd], paths...)
	for seed := range uint64(500) {
		checkProtoPeek(t, f, p, protoOdd(seed), paths)
	}
}

// wire builds messages field by field.
type wire []byte

func (w wire) bytes(number protowire.Number, value ...byte) wire {
	return protowire.AppendBytes(protowire.AppendTag(w, number, protowire.BytesType), value)
}

func (w wire) text(number protowire.Number, value string) wire {
	return w.bytes(number, []byte(value)...)
}

func (w wire) int(number protowire.Number, value int64) wire {
	return protowire.AppendVarint(protowire.AppendTag(w, number, protowire.VarintType), uint64(value))
}

func (w wire) label(key, value string) wire {
	return w.bytes(11, wire{}.text(1, key).text(2, value)...)
}

// enveloped returns an object in its envelope.
func enveloped(body []byte) []byte {
	return wire(protoPrefix).bytes(1, wire{}.text(1, "test.example.com/v1").text(2, "Odd")...).bytes(2, body...)
}

// TestProtoPeekUnusual: protobuf that is valid, but written as no server writes it.
func TestProtoPeekUnusual(t *testing.T) {
	paths := []string{
		"metadata.name", "text", "bool", "int32", "upper", "nested.text", "nested.int64", "nested.boolP", "pointer.text",
		"pointer.int32", "pointer.upper", "high", "map.a.text", "map.a.int32", "metadata.labels.a", "nested.float",
	}
	type values map[string]string
	for _, tt := range []struct {
		name   string
		body   wire
		want   values
		labels []Label
	}{
		{name: "empty"},
		{name: "text that is absent and text that is empty", body: wire{}.bytes(2, wire{}.text(1, "")...)},
		{name: "explicit zeros", body: wire{}.bytes(2, wire{}.int(3, 0).int(4, 0)...).bytes(3, wire{}.int(5, 0).int(9, 0)...),
			want: values{"nested.boolP": "false"}},
		{name: "the last one counts", body: wire{}.text(300, "a").text(300, "b").bytes(2, wire{}.int(4, 5).int(4, -6)...),
			want: values{"high": "b", "int32": "-6"}},
		{name: "back to zero", body: wire{}.bytes(2, wire{}.int(4, 5).int(4, 0).int(3, 1).int(3, 0)...)},
		{name: "merged", body: wire{}.bytes(1, wire{}.text(1, "n")...).bytes(3, wire{}.text(1, "a")...).
			bytes(1, wire{}.label("a", "b")...).bytes(3, wire{}.int(5, 1<<40)...),
			want:   values{"metadata.name": "n", "nested.text": "a", "nested.int64": "1099511627776", "metadata.labels.a": "b"},
			labels: []Label{{"a", "b"}}},
		{name: "merged behind a pointer", body: wire{}.bytes(4, wire{}.text(1, "a").int(4, 7)...).bytes(4, wire{}.bytes(12, wire{}.text(1, "X")...)...),
			want: values{"pointer.text": "a", "pointer.int32": "7", "pointer.upper": "X"}},
		{name: "an integer of more bits", body: wire{}.bytes(2, wire{}.int(4, 1<<32|9)...), want: values{"int32": "9"}},
		{name: "labels out of order, and twice", body: wire{}.bytes(1, wire{}.label("b", "1").label("a", "2").label("b", "3").label("", "")...),
			want: values{"metadata.labels.a": "2"}, labels: []Label{{"", ""}, {"a", "2"}, {"b", "3"}}},
		{name: "a label of another wire type", body: wire{}.bytes(1, wire{}.bytes(11, wire{}.int(1, 5).text(2, "v")...)...),
			labels: []Label{{"", "v"}}},
		{name: "the last map entry counts alone", body: wire{}.bytes(7, wire{}.text(1, "a").bytes(2, wire{}.int(4, 5)...)...).
			bytes(7, wire{}.bytes(2, wire{}.text(1, "t")...).text(1, "a")...), want: values{"map.a.text": "t"}},
		{name: "invalid UTF-8", body: wire{}.text(300, "a\xff\xfeb").bytes(1, wire{}.label("a", "\x80")...),
			want: values{"high": "a\ufffd\ufffdb", "metadata.labels.a": "\ufffd"}, labels: []Label{{"a", "\ufffd"}}},
		{name: "unknown fields", body: wire{}.text(299, "x").int(301, 5).bytes(2, wire{}.text(99, "x").text(1, "t")...),
			want: values{"text": "t"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := enveloped(tt.body)
			want := Peek{Kind: "Odd", APIVersion: "test.example.com/v1", Name: tt.want["metadata.name"], Labels: tt.labels}
			for _, path := range paths {
				want.Fields = append(want.Fields, tt.want[path])
			}
			var got Peek
			if err := NewProtoPeeker(typeinfo.For[Odd], paths...).Peek(data, &got); err != nil {
				t.Fatal(err)
			}
			comparePeeks(t, got, want, paths)
			plain, err := peekPlainly(t, newTestFactory(t), data, meta.GroupVersionKind{}, paths)
			if err != nil {
				t.Fatal(err)
			}
			comparePeeks(t, plain, want, paths)
		})
	}
}

// TestProtoPeekEnvelope: if an envelope has two messages, the second one replaces the first, as in
// decoding.
func TestProtoPeekEnvelope(t *testing.T) {
	body := wire{}.bytes(1, wire{}.text(1, "second")...)
	data := wire(enveloped(wire{}.bytes(1, wire{}.text(3, "first")...))).bytes(2, body...)
	var got Peek
	if err := NewProtoPeeker(typeinfo.For[Odd]).Peek(data, &got); err != nil || got.Name != "second" || got.Namespace != "" {
		t.Errorf("got %v, %+v", err, got)
	}
}

func TestProtoPeekErrors(t *testing.T) {
	p := NewProtoPeeker(typeinfo.For[Odd], "int32", "nested.text", "map.a.text")
	for _, tt := range []struct{ name, data string }{
		{"nothing", ""},
		{"JSON", `{"kind":"Odd"}`},
		{"only the prefix", "k8s\x00"},
		{"truncated envelope", "k8s\x00\xff\xff\xff"},
		{"truncated body", "k8s\x00\x12\x02\x0a\x05"},
		{"truncated tag", string(enveloped([]byte{0x80}))},
		{"field number 0", string(enveloped([]byte{0x00, 0x00}))},
		{"truncated skipped field", string(enveloped(wire{0x7a, 0x05}))},
		{"endless group", string(enveloped(bytes.Repeat([]byte{0x7b}, 1<<16)))},
		{"metadata of another wire type", string(enveloped(wire{}.int(1, 1)))},
		{"a string of another wire type", string(enveloped(wire{}.bytes(3, wire{}.int(1, 1)...)))},
		{"a number of another wire type", string(enveloped(wire{}.bytes(2, wire{}.text(4, "a")...)))},
		{"overlong number", string(enveloped(wire{}.bytes(2, append(wire{4 << 3}, bytes.Repeat([]byte{0xff}, 11)...)...)))},
		{"truncated label", string(enveloped(wire{}.bytes(1, wire{}.bytes(11, 0x0a, 0x05)...)))},
		{"labels of another wire type", string(enveloped(wire{}.bytes(1, wire{}.int(11, 5)...)))},
		{"bad deletionTimestamp", string(enveloped(wire{}.bytes(1, wire{}.bytes(9, wire{}.text(1, "a")...)...)))},
		{"bad map entry", string(enveloped(wire{}.bytes(7, wire{}.int(2, 5)...)))},
	} {
		var out Peek
		if err := p.Peek([]byte(tt.data), &out); err == nil {
			t.Errorf("%s: got no error", tt.name)
		}
	}
	var out Peek
	if err := NewProtoPeeker(typeinfo.For[Loose]).Peek(enveloped(nil), &out); err == nil {
		t.Error("type without protobuf form: got no error")
	}
}

// FuzzProtoPeek compares a ProtoPeeker with its plain twin.
func FuzzProtoPeek(f *testing.F) {
	factory := newTestFactory(f)
	for seed := range uint64(10) {
		data, err := AppendProto(nil, protoOdd(seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	pod, err := factory.DecodeStored(benchPod(f))
	if err != nil {
		f.Fatal(err)
	}
	data, err := AppendProto(nil, pod.Object)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(enveloped(wire{}.bytes(1, wire{}.label("b", "1").label("a", "2").label("b", "3")...).bytes(4, wire{}.int(4, 0)...).bytes(4)))
	kinds := []meta.GroupVersionKind{oddKind, podKind, secretKind, v1.WithKind("Node"), v1.WithKind("Service")}
	paths, peekers := map[meta.GroupVersionKind][]string{}, map[meta.GroupVersionKind]*ProtoPeeker{}
	for _, gvk := range kinds {
		paths[gvk] = allPaths(factory.TypeOf(gvk))
		peekers[gvk] = NewProtoPeeker(func() *typeinfo.Type { return factory.TypeOf(gvk) }, paths[gvk]...)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEnvelope(data)
		if err != nil {
			return
		}
		for _, gvk := range kinds {
			data := wire(protoPrefix).bytes(1, wire{}.text(1, gvk.GroupVersion().String()).text(2, gvk.Kind)...).bytes(2, e.raw...)
			var got Peek
			failed := peekers[gvk].Peek(data, &got)
			want, err := peekPlainly(t, factory, data, gvk, paths[gvk])
			if err != nil {
				continue // it may be malformed in a part that Peek skips
			}
			if failed != nil {
				t.Fatalf("Peek(%x) as %s: %v", data, gvk.Kind, failed)
			}
			comparePeeks(t, got, want, paths[gvk])
		}
	})
}

func TestProtoPeekAllocates(t *testing.T) {
	p, data := benchProtoPeek(t)
	out := Peek{Labels: make([]Label, 0, 8), Fields: make([]string, 0, 8)}
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Peek(data, &out); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("Peek: got %v allocs, want 0", n)
	}
}

// benchProtoPeek returns the pod of benchPod as protobuf, and a ProtoPeeker for its selectable
// fields.
func benchProtoPeek(t testing.TB) (*ProtoPeeker, []byte) {
	t.Helper()
	pod, err := newTestFactory(t).DecodeStored(benchPod(t))
	if err != nil {
		t.Fatal(err)
	}
	data, err := AppendProto(nil, pod.Object)
	if err != nil {
		t.Fatal(err)
	}
	return NewProtoPeeker(typeinfo.For[corev1.Pod], selectable["Pod"]...), data
}

// BenchmarkPeekPod peeks at the selectable fields of one pod in both encodings.
func BenchmarkPeekPod(b *testing.B) {
	text, json := benchPod(b), NewPeeker(selectable["Pod"]...)
	proto, data := benchProtoPeek(b)
	run := func(name string, peek func([]byte, *Peek) error, data []byte) {
		b.Run("type="+name, func(b *testing.B) {
			var out Peek
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := peek(data, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("json", json.Peek, text)
	run("protobuf", proto.Peek, data)
}
