package codec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

// Decoding looks at the context again and again, and ends with it.
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

// What takes too much memory is not decoded a second time.
func TestMemoryOnce(t *testing.T) {
	f := newTestFactory(t)
	data := []byte(`{"metadata":{"managedFields":[` + strings.Repeat("{},", 1_000_000) + `{}]}}`)
	_, err := f.Decode(DecodeRequest{Data: data, Default: configMapKind, Meter: meter.WithBudget(t.Context(), len(data))})
	if err != errMemory {
		t.Errorf("got %v, want %v", err, errMemory)
	}
}
