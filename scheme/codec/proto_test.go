package codec

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// protoOdd returns an Odd that survives protobuf: without fields that have no number, and without
// values that protobuf cannot tell apart.
func protoOdd(seed uint64) *Odd {
	o := randomOdd(seed)
	o.ListMap, o.Anything, o.Anythings = nil, nil, nil
	return o
}

func TestProtoRoundTrip(t *testing.T) {
	f := newTestFactory(t)
	for seed := range uint64(500) {
		want := protoOdd(seed)
		data, err := AppendProto([]byte("before"), want)
		if err != nil {
			t.Fatal(err)
		}
		data = data[len("before"):]
		for _, shared := range []bool{false, true} {
			out, err := f.Decode(DecodeRequest{Data: data, Type: Protobuf, Shared: shared})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(out.Object, want) {
				t.Fatalf("seed %d:\n got %+v\nwant %+v", seed, out.Object, want)
			}
		}
	}
}

func TestProtoDecodeErrors(t *testing.T) {
	f := newTestFactory(t)
	for _, tt := range []struct{ name, data, want string }{
		{"truncated", "k8s\x00\xff\xff\xff", "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b387300ffffff)"},
		{"no prefix", "abcd", "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (61626364)"},
		{"nothing", "", "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)"},
		{"only the prefix", "k8s\x00", "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)"},
		{"truncated body", "k8s\x00\x12\x02\x0a\x05", `ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF`},
		{"wrong wire type", "k8s\x00\x12\x02\x08\x05", `ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field ObjectMeta`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := f.Decode(DecodeRequest{Data: []byte(tt.data), Type: Protobuf, Default: configMapKind})
			if err == nil {
				t.Fatalf("got %+v, want an error", out)
			}
			if got := BodyError(err, out.GVK, "ConfigMap", []byte(tt.data)).Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestProtoDecodeLenient(t *testing.T) {
	var body []byte
	body = protowire.AppendTag(body, 9, protowire.BytesType) // packed
	body = protowire.AppendBytes(body, []byte{1, 2})
	body = protowire.AppendTag(body, 9, protowire.VarintType)
	body = protowire.AppendVarint(body, 3)
	body = protowire.AppendTag(body, 18, protowire.BytesType) // packed, of pointers
	body = protowire.AppendBytes(body, []byte{1, 2})
	body = protowire.AppendTag(body, 5000, protowire.StartGroupType) // unknown
	body = protowire.AppendTag(body, 1, protowire.VarintType)
	body = protowire.AppendVarint(body, 1)
	body = protowire.AppendTag(body, 5000, protowire.EndGroupType)
	for range 2 { // merged
		body = protowire.AppendTag(body, 3, protowire.BytesType)
		body = protowire.AppendBytes(body, protowire.AppendString([]byte{14<<3 | 2}, "s"))
	}
	body = protowire.AppendTag(body, 14, protowire.BytesType) // an entry without value
	body = protowire.AppendBytes(body, protowire.AppendString([]byte{1<<3 | 2}, "k"))
	data := protowire.AppendBytes(append([]byte("k8s\x00"), 2<<3|2), body)
	out, err := newTestFactory(t).Decode(DecodeRequest{Data: data, Type: Protobuf, Default: oddKind})
	if err != nil {
		t.Fatal(err)
	}
	o := out.Object.(*Odd)
	one, two := int32(1), int32(2)
	if !reflect.DeepEqual(o.Ints, []int32{1, 2, 3}) || !reflect.DeepEqual(o.IntPs, []*int32{&one, &two}) || !reflect.DeepEqual(o.Nested.Strings, []string{"s", "s"}) ||
		!reflect.DeepEqual(o.IntMap, map[string]int64{"k": 0}) {
		t.Errorf("got %+v", o)
	}
}

func TestProtoDepth(t *testing.T) {
	f := newTestFactory(t)
	var body []byte
	for range 20000 {
		inner := body
		body = protowire.AppendBytes([]byte{16<<3 | 1<<7 | 2, 1}, inner)
		if len(body) > 1<<18 {
			break
		}
	}
	data := protowire.AppendBytes([]byte("k8s\x00\x12"), protowire.AppendBytes([]byte{3<<3 | 2}, body))
	if _, err := f.Decode(DecodeRequest{Data: data, Type: Protobuf, Default: oddKind}); err != errDepth {
		t.Errorf("got %v, want %v", err, errDepth)
	}
}

func FuzzProto(f *testing.F) {
	factory := newTestFactory(f)
	for seed := range uint64(10) {
		data, err := AppendProto(nil, protoOdd(seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("k8s\x00\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, def := range []meta.GroupVersionKind{oddKind, podKind, configMapKind, v1.WithKind("APIResourceList")} {
			out, err := factory.Decode(DecodeRequest{Data: data, Type: Protobuf, Default: def})
			if err != nil {
				continue
			}
			again, err := AppendProto(nil, out.Object)
			if err != nil {
				t.Fatal(err)
			}
			back, err := factory.Decode(DecodeRequest{Data: again, Type: Protobuf, Default: def})
			if err != nil {
				t.Fatalf("decoding what was encoded: %v", err)
			}
			if third, _ := AppendProto(nil, back.Object); !bytes.Equal(third, again) {
				t.Fatalf("encoding again:\n got %x\nwant %x", third, again)
			}
		}
	})
}

func TestProtoList(t *testing.T) {
	list := &corev1.ConfigMapList{
		TypeMeta: meta.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"},
		ListMeta: meta.ListMeta{ResourceVersion: "12", Continue: strings.Repeat("c", 200)},
	}
	var items [][]byte
	size := 0
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		cm := corev1.ConfigMap{}
		fill(r, reflect.ValueOf(&cm).Elem(), 0)
		list.Items = append(list.Items, cm)
		data, err := AppendProto(nil, &cm)
		if err != nil {
			t.Fatal(err)
		}
		body, err := ProtoBody(data)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, body)
		size += ProtoItemSize(len(body))
	}
	want, err := AppendProto(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	got := AppendProtoListHead(nil, v1.WithKind("ConfigMapList"), &list.ListMeta, size)
	for _, item := range items {
		got = AppendProtoItem(got, item)
	}
	got = AppendProtoListTail(got)
	if !bytes.Equal(got, want) {
		t.Errorf("list in parts:\n got %x\nwant %x", got, want)
	}
}

func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		name   string
		object string
		media  Media
		want   string
	}{
		{"JSON", "{\"kind\":\"Pod\"}\n", Media{Stream: true}, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n"},
		{"protobuf", "k8s\x00abc", Media{Type: Protobuf}, "\x00\x00\x00\x12\n\x05ADDED\x12\x09\n\x07k8s\x00abc"},
	} {
		if got := AppendEvent(nil, "ADDED", []byte(tt.object), tt.media); string(got) != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("x", 300)
	frame := AppendEvent(nil, "MODIFIED", []byte(long), Media{Type: Protobuf})
	if n := int(frame[2])<<8 | int(frame[3]); n != len(frame)-4 {
		t.Errorf("frame says %d bytes, has %d", n, len(frame)-4)
	}
}
