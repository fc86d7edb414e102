//go:build !race

package codec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

// TestDecodeMemory decodes small bodies that stand for a lot of memory.
func TestDecodeMemory(t *testing.T) {
	f := newTestFactory(t)
	const many = 3 << 19
	var entries, messages strings.Builder
	for i := range many {
		fmt.Fprintf(&entries, `"%x":{},`, i)
		messages.WriteString("\x32\x00") // pointers
	}
	for _, tt := range []struct {
		name string
		gvk  meta.GroupVersionKind
		data string
		typ  Type
	}{
		{"list", podKind, `{"spec":{"containers":[` + strings.Repeat("{},", 1<<20) + "{}]}}", JSON},
		{"list of pointers", oddKind, `{"pointers":[` + strings.Repeat("{},", many) + "{}]}", JSON},
		{"map", oddKind, `{"map":{` + entries.String() + `"":{}}}`, JSON},
		{"message with pointers", oddKind, string(protowire.AppendString([]byte("k8s\x00\x12"), messages.String())), Protobuf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := f.Decode(DecodeRequest{Data: []byte(tt.data), Type: tt.typ, Default: tt.gvk}); err != errMemory {
				t.Errorf("got %v, want %v", err, errMemory)
			}
		})
	}
}

// TestDecodeEnds: decoding checks the context again and again, and ends when the context ends.
func TestDecodeEnds(t *testing.T) {
	const n = 30_000
	f := newTestFactory(t)
	lines := func(format, sep string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, sep)
	}
	entries := `{"data":{` + lines(`"key%06d":""`, ",") + `}}`
	cm := &corev1.ConfigMap{Data: map[string]string{}}
	cm.SetGroupVersionKind(configMapKind)
	for i := range n {
		cm.Data[fmt.Sprintf("key%06d", i)] = ""
	}
	message, err := AppendProto(nil, cm)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(typ Type, data string) func(m *meter.Meter) error {
		return func(m *meter.Meter) error {
			_, err := f.Decode(DecodeRequest{Data: []byte(data), Type: typ, Default: configMapKind, Strict: true, Meter: m})
			return err
		}
	}
	for name, work := range map[string]func(m *meter.Meter) error{
		"JSON":         decode(JSON, entries),
		"unknown":      decode(JSON, `{"x":[`+lines(`1%05d`, ",")+`]}`),
		"repeated":     decode(JSON, `{"data":{`+lines(`"a%.0d":""`, ",")+`}}`),
		"another kind": decode(JSON, entries[:len(entries)-1]+`,"Kind":"ConfigMap"}`),
		"YAML":         decode(YAML, "data:\n"+lines(` key%06d: a`, "\n")),
		"flow":         decode(YAML, "x: ["+lines(`%06d`, ",")+"]"),
		"aliases":      decode(YAML, "y: &a b\nx: ["+lines(`%06d, *a`, ",")+"]"),
		"protobuf":     decode(Protobuf, string(message)),
		"tree": func(m *meter.Meter) error {
			_, _, err := DecodeTree([]byte(entries), true, m)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metertest.Ends(t, 3, func(ctx context.Context) error { return work(meter.New(ctx)) })
		})
	}
}

// TestYAMLBomb decodes short documents whose aliases expand to huge ones.
func TestYAMLBomb(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'l'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+p+",", 9), ",") + "]\n"
	}
	long := strings.Repeat("k", 1<<20)
	for _, tt := range []struct{ name, doc string }{
		{"many values", bomb},
		{"long values", "a: &a " + long + "\nb: [" + strings.Repeat("*a,", 1e5) + "]\n"},
		{"long keys", "a: &a " + long + "\nb: [" + strings.Repeat("{*a : 1},", 1e5) + "]\n"},
		{"long repeated keys", "a: &a " + long + "\nb: {" + strings.Repeat("*a : 1,", 1e5) + "}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := YAMLToJSON([]byte(tt.doc), true, nil); errText(err) != "yaml: document contains excessive aliasing" {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
	got, _, err := YAMLToJSON([]byte("a: &a {x: '*'}\nb: {<<: *a, z: *a}\n"), true, nil)
	if want := `{"a":{"x":"*"},"b":{"x":"*","z":{"x":"*"}}}`; string(got) != want {
		t.Errorf("aliases: got %s, %v, want %s", got, err, want)
	}
}
