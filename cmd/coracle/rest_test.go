package main

import (
	"runtime"
	"testing"
)

// TestRests checks when memory is given back: after each burst, in the first minute in which the
// server allocates little, and once more in the sixth such minute in a row.
func TestRests(t *testing.T) {
	var r restDetector
	for i, minute := range []struct {
		allocated uint64
		due       bool
	}{
		{100 << 20, false}, // the start
		{1 << 20, true},
		{1 << 20, false}, // no requests since then
		{20 << 20, false},
		{1 << 20, false}, // too few requests for a burst
		{300 << 20, false},
		{9 << 20, false}, // not yet at rest
		{8 << 20, true},
		{0, false},
		{0, false},
		{0, false},
		{9 << 20, false}, // more than restBytes: the count of minutes at rest starts again
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, true},
		{8 << 20, false}, // both releases after the burst are done
		{8 << 20, false},
		{8 << 20, true}, // burstBytes since the release after the burst; no second one, because the rest is long already
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
		{1 << 20, false},
	} {
		if due := r.due(r.last + minute.allocated); due != minute.due {
			t.Errorf("minute %d: got %v, want %v", i, due, minute.due)
		}
	}
}

var sink []byte

func TestAllocated(t *testing.T) {
	before := allocated()
	sink = make([]byte, 10<<20)
	runtime.KeepAlive(sink)
	if n := allocated() - before; n < 10<<20 {
		t.Errorf("10 MiB were allocated, and %d bytes are counted", n)
	}
}
