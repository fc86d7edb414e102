package codec

import (
	"encoding/json"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The ceilings on allocations are slightly above what the operations allocate, which is
// deterministic.

const benchConfigMap = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"default","labels":{"app":"web"}},` +
	`"data":{"a":"1","b":"some longer value that does not fit into a register","c":"true"}}`

func benchDecode(b *testing.B, f *Factory, req DecodeRequest) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(req.Data)))
	for b.Loop() {
		if _, err := f.Decode(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	f := newTestFactory(b)
	pod := benchPod(b)
	out, err := f.DecodeStored(pod)
	if err != nil {
		b.Fatal(err)
	}
	proto, err := AppendProto(nil, out.Object)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("kind=ConfigMap", func(b *testing.B) {
		benchDecode(b, f, DecodeRequest{Data: []byte(benchConfigMap), Default: configMapKind, Strict: true})
	})
	b.Run("kind=Pod", func(b *testing.B) {
		benchDecode(b, f, DecodeRequest{Data: pod, Default: podKind, Strict: true})
	})
	b.Run("kind=Pod/stored", func(b *testing.B) {
		benchDecode(b, f, DecodeRequest{Data: pod, Shared: true})
	})
	b.Run("kind=Pod/type=protobuf", func(b *testing.B) {
		benchDecode(b, f, DecodeRequest{Data: proto, Type: Protobuf, Shared: true})
	})
	b.Run("kind=Pod/by=encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(pod)))
		for b.Loop() {
			if err := json.Unmarshal(pod, new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	f := newTestFactory(b)
	out, err := f.DecodeStored(benchPod(b))
	if err != nil {
		b.Fatal(err)
	}
	for name, m := range map[string]Media{"json": {}, "pretty": {Pretty: true}, "yaml": {Type: YAML}, "protobuf": {Type: Protobuf}} {
		b.Run("kind=Pod/type="+name, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = f.Append(buf[:0], out.Object, m); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func TestAllocations(t *testing.T) {
	f := newTestFactory(t)
	pod := benchPod(t)
	stored, err := f.DecodeStored(pod)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 1<<14)
	proto, err := AppendProto(nil, stored.Object)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(req DecodeRequest) func() error {
		return func() error { _, err := f.Decode(req); return err }
	}
	encode := func(obj meta.Typed, m Media) func() error {
		return func() error { _, err := f.Append(buf, obj, m); return err }
	}
	for _, tt := range []struct {
		name string
		max  float64
		op   func() error
	}{
		{"decode ConfigMap", 7, decode(DecodeRequest{Data: []byte(benchConfigMap), Default: configMapKind, Strict: true})},
		{"decode Pod", 60, decode(DecodeRequest{Data: pod, Default: podKind, Strict: true})},
		{"decode stored Pod", 62, decode(DecodeRequest{Data: pod, Shared: true})},
		{"decode protobuf Pod", 62, decode(DecodeRequest{Data: proto, Type: Protobuf, Shared: true})},
		{"encode Pod", 0, encode(stored.Object, Media{})},
		{"encode protobuf Pod", 3, encode(stored.Object, Media{Type: Protobuf})},
	} {
		if got := testing.AllocsPerRun(50, func() {
			if err := tt.op(); err != nil {
				t.Fatal(err)
			}
		}); got > tt.max {
			t.Errorf("%s: got %v allocs, want at most %v", tt.name, got, tt.max)
		} else {
			t.Logf("%s: %v allocs", tt.name, got)
		}
	}
}
