package patch

import (
	"fmt"
	"strings"
	"testing"
)

// configMap is a ConfigMap of about 1.5 KiB as it is stored.
var configMap = []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"settings","namespace":"default","uid":"5f0c3a52-5c70-4a3c-9d3b-0b8d2b8f5a10",` +
	`"creationTimestamp":"2025-01-01T00:00:00Z","labels":{"app":"web","tier":"front"},"managedFields":[{"manager":"kubectl","operation":"Update",` +
	`"apiVersion":"v1","time":"2025-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{},"f:b":{}}}}]},"data":{"a":"` +
	strings.Repeat("value ", 80) + `","b":"` + strings.Repeat("line\\n", 70) + `","c":"1"}}`)

func BenchmarkMerge(b *testing.B) {
	p := []byte(`{"data":{"c":"2","d":"new"},"metadata":{"labels":{"tier":"back"}}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(configMap)))
	for b.Loop() {
		if _, err := Merge(configMap, p, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	p := []byte(`[{"op":"replace","path":"/data/c","value":"2"},{"op":"add","path":"/metadata/labels/tier","value":"back"}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := JSON(configMap, p, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStrategic(b *testing.B) {
	doc := []byte(`{"name":"r","a":"x","prims":["a","b"],"m":{"a":"b"},"subs":[{"name":"one","a":"x","m":{"k":"v"}},{"name":"two","a":"` + strings.Repeat("long", 200) + `"}]}`)
	p := []byte(`{"subs":[{"name":"three"},{"name":"two","n":5}],"$setElementOrder/subs":[{"name":"one"},{"name":"three"},{"name":"two"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Strategic(doc, p, root, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCheckMergeAllocs: a search for duplicate keys that finds none allocates only the path, if the
// objects are small.
func TestCheckMergeAllocs(t *testing.T) {
	for n := range inline + 1 {
		p := []byte(`{` + items(n, func(i int) string { return fmt.Sprintf(`"k%d":{"v":%d}`, i, i) }) + `}`)
		if got := testing.AllocsPerRun(200, func() { CheckMerge(p, nil) }); got > 1 {
			t.Errorf("CheckMerge of %d members: got %v allocations, want at most 1", n, got)
		}
	}
}

// TestMergeAllocs: a merge allocates its result, and keys of the document that are escaped or
// repeated.
func TestMergeAllocs(t *testing.T) {
	p := []byte(`{"data":{"c":"2","d":"new"},"metadata":{"labels":{"tier":"back"}}}`)
	got := testing.AllocsPerRun(200, func() {
		if _, err := Merge(configMap, p, nil); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1 {
		t.Errorf("Merge: got %v allocations, want 1", got)
	}
}
