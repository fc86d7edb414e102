package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage/memory"
)

// largeSchema is a schema of 80 KB, with 360 fields.
var largeSchema = func() string {
	field := func(i int, of string) string {
		return fmt.Sprintf(`"field%d":{"type":"object","description":%q,"properties":{%s}}`, i, strings.Repeat("d", 120), of)
	}
	var fields, all []string
	for i := range 8 {
		fields = append(fields, fmt.Sprintf(`"sub%d":{"type":"string","description":%q,"maxLength":63,"pattern":"^[a-z]+$"}`, i, strings.Repeat("e", 100)))
	}
	for i := range 40 {
		all = append(all, field(i, strings.Join(fields, ",")))
	}
	return `{"type":"object","properties":{"spec":{"type":"object","properties":{` + strings.Join(all, ",") + `}}}}`
}()

// large is a version with largeSchema.
var large = `{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":` + largeSchema + `}}`

// BenchmarkDefinition creates large definitions, on a server with a number of other ones. It waits
// until each is established.
func BenchmarkDefinition(b *testing.B) {
	for _, n := range []int{0, 500} {
		b.Run(fmt.Sprintf("others=%d", n), func(b *testing.B) {
			q := newQuay(b)
			for i := range n {
				q.define(fmt.Sprintf("others%d", i), fmt.Sprintf("Other%d", i), large)
			}
			before, i := cpuTime(b), 0
			for b.Loop() {
				q.define(fmt.Sprintf("things%d", i), fmt.Sprintf("Thing%d", i), large)
				i++
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkDefinitionsStart measures the time until a server on a store with 500 large definitions
// is ready.
func BenchmarkDefinitionsStart(b *testing.B) {
	store := memory.New(memory.Config{})
	b.Cleanup(func() { store.Close() })
	cfg := server.Config{Storage: server.StorageConfig{Store: &quaytest.DelayedStore{Store: store}}}
	q := newQuay(b, cfg)
	for i := range 500 {
		q.define(fmt.Sprintf("things%d", i), fmt.Sprintf("Thing%d", i), large)
	}
	for b.Loop() {
		began := time.Now()
		again := newQuay(b, cfg)
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ready-ms")
		again.want(200, "GET", again.path("things499", "v1"), "", nil)
	}
}

// BenchmarkDefinitionsOpenAPI requests OpenAPI documents after a change of one of 500 large
// definitions.
func BenchmarkDefinitionsOpenAPI(b *testing.B) {
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/quay.example.com/v1"} {
		b.Run("path="+path, func(b *testing.B) {
			q := newQuay(b)
			for i := range 500 {
				q.define(fmt.Sprintf("things%d", i), fmt.Sprintf("Thing%d", i), large)
			}
			ask := func() { q.raw("GET", path, "", "Accept-Encoding", "gzip") }
			ask()
			cpu, i := time.Duration(0), 0
			for b.Loop() {
				b.StopTimer()
				q.define(fmt.Sprintf("others%d", i), fmt.Sprintf("Other%d", i), large)
				before := cpuTime(b)
				b.StartTimer()
				ask()
				cpu += cpuTime(b) - before
				i++
			}
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
		})
	}
}
