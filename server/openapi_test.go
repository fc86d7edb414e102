package server_test

import (
	"runtime"
	"testing"
)

// What the first answer to /openapi/v3 may take, in bytes: what stays of it, most of which are compiled types, and all that was
// allocated on the way.
const (
	maxIndexKept  = 2 << 20
	maxIndexTotal = 14 << 20
)

// TestOpenAPIIndexCost: the index describes every kind, and keeps no description.
func TestOpenAPIIndexCost(t *testing.T) {
	p := newInProcess(t)
	var before, made, kept runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p.mustDo("GET", "/openapi/v3", "")
	runtime.ReadMemStats(&made)
	runtime.GC()
	runtime.ReadMemStats(&kept)
	if got := made.TotalAlloc - before.TotalAlloc; got > maxIndexTotal {
		t.Errorf("allocated %d KiB, want at most %d", got>>10, maxIndexTotal>>10)
	}
	if got := int64(kept.HeapAlloc) - int64(before.HeapAlloc); got > maxIndexKept {
		t.Errorf("kept %d KiB, want at most %d", got>>10, maxIndexKept>>10)
	}
	runtime.KeepAlive(p)
}
