package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const widget = `{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["replicas","parts"],"properties":{
	"replicas":{"type":"integer","format":"int32","minimum":0,"default":1},"image":{"type":"string","pattern":"^[a-z./:0-9]+$","maxLength":200},
	"mode":{"type":"string","enum":["Fast","Slow"],"default":"Fast"},"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"parts":{"type":"array","maxItems":100,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
		"properties":{"name":{"type":"string","minLength":1},"port":{"type":"integer","minimum":1,"maximum":65535},
			"protocol":{"type":"string","default":"TCP"},"args":{"type":"array","items":{"type":"string"}}}}}}},
	"status":{"type":"object","properties":{"ready":{"type":"boolean"},"conditions":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}`

const widgetObject = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"a":"b"}},"spec":{"replicas":3,"image":"example.com/a:1",
	"mode":"Slow","labels":{"x":"y","z":"w"},"parts":[{"name":"a","port":80,"protocol":"TCP","args":["-v","-x"]},{"name":"b","port":81,"protocol":"UDP"},
	{"name":"c","port":82,"protocol":"TCP"}]},"status":{"ready":true,"conditions":[{"type":"Ready","status":"True"}]}}`

// largeObject is a widget of about 10 KB.
func largeObject() string {
	parts := make([]string, 95)
	for i := range parts {
		parts[i] = fmt.Sprintf(`{"name":"part-%d","port":%d,"protocol":"UDP","args":["--verbose","--output=/dev/null","--level=%d"]}`, i, i+1, i)
	}
	return strings.Replace(widgetObject, `"parts":[`, `"parts":[`+strings.Join(parts, ",")+",", 1)
}

func BenchmarkTree(b *testing.B) {
	s := parseSchema(b, widget)
	for _, text := range []string{widgetObject, largeObject()} {
		tree, old := parseTree(b, text), parseTree(b, text)
		for _, bb := range []struct {
			name string
			run  func() bool
		}{
			{"Prune", func() bool { return len(s.Prune(nil, tree)) == 0 }},
			{"SetDefaults", func() bool { return s.SetDefaults(nil, tree) == nil }},
			{"Validate", func() bool { return len(s.Validate(nil, nil, tree, nil)) == 0 }},
			{"ValidateAll", func() bool { return len(mistakes(s, tree, nil)) == 0 }},
			{"Update", func() bool { return len(mistakes(s, tree, old)) == 0 }},
		} {
			b.Run(fmt.Sprintf("%s/bytes=%d", bb.name, len(text)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !bb.run() {
						b.Fatal("the object is wrong")
					}
				}
			})
		}
	}
}

// BenchmarkParse shows the time to parse a schema, and the memory that it keeps.
func BenchmarkParse(b *testing.B) {
	kept := make([]*Schema, 0, 1000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range cap(kept) {
		kept = append(kept, parseSchema(b, widget))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	for b.Loop() {
		parseSchema(b, widget)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(kept)), "kept-B")
	b.ReportMetric(float64(len(widget)), "text-B")
	runtime.KeepAlive(kept)
}

// TestAllocations: a valid object costs few allocations, because the path of a value is kept in one
// slice, and is written as text only for an error.
func TestAllocations(t *testing.T) {
	s, tree := parseSchema(t, widget), parseTree(t, widgetObject)
	for _, tt := range []struct {
		name string
		max  float64
		run  func()
	}{
		{"Prune", 4, func() { s.Prune(nil, tree) }},
		{"SetDefaults", 0, func() { _ = s.SetDefaults(nil, tree) }},
		{"Validate", 10, func() { s.Validate(nil, nil, tree, nil) }},
		{"ValidateResources", 4, func() { s.ValidateResources(nil, nil, tree) }},
		{"ValidateLists", 4, func() { s.ValidateLists(nil, nil, tree, tree) }},
	} {
		if got := testing.AllocsPerRun(100, tt.run); got > tt.max {
			t.Errorf("%s: got %v allocations, want at most %v", tt.name, got, tt.max)
		}
	}
}
