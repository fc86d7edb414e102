package server_test

import (
	"encoding/json"
	"runtime"
	"testing"
)

// What answers may take, in bytes: what stays of the first to /openapi/v3, most of which are compiled types; all that is allocated
// for it; and what stays when all documents have been asked for in all forms.
const (
	maxIndexKept  = 2 << 20
	maxIndexTotal = 14 << 20
	maxAllKept    = 5 << 20
)

// TestOpenAPICost: the index describes every kind, and keeps no description; documents that nobody reads are kept compressed.
func TestOpenAPICost(t *testing.T) {
	p := newInProcess(t)
	kept := keptBy()
	var before, made runtime.MemStats
	runtime.ReadMemStats(&before)
	_, answer := p.do("GET", "/openapi/v3", "")
	runtime.ReadMemStats(&made)
	if got := made.TotalAlloc - before.TotalAlloc; got > maxIndexTotal {
		t.Errorf("the index allocated %d KiB, want at most %d", got>>10, maxIndexTotal>>10)
	}
	if got := kept(); got > maxIndexKept {
		t.Errorf("the index keeps %d KiB, want at most %d", got>>10, maxIndexKept>>10)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal([]byte(answer), &index); err != nil || len(index.Paths) < 20 {
		t.Fatalf("the index: %v, %.200s", err, answer)
	}
	answer = ""
	const v2, v3 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	for _, form := range []string{"", v2 + "," + v3} {
		ask := func(path string) {
			if code, answer := p.do("GET", path, "", "Accept", form); code != 200 || answer == "" {
				t.Errorf("GET %s: %d", path, code)
			}
		}
		ask("/openapi/v2")
		for _, entry := range index.Paths {
			ask(entry.ServerRelativeURL)
		}
	}
	if got := kept(); got > maxAllKept {
		t.Errorf("all documents keep %d KiB, want at most %d", got>>10, maxAllKept>>10)
	}
	runtime.KeepAlive(p)
}

// keptBy returns a function that reports by how many bytes what is in use has grown since.
func keptBy() func() int64 {
	inUse := func() int64 {
		runtime.GC()
		runtime.GC() // what the first has made unreachable
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	return func() int64 { return inUse() - before }
}
