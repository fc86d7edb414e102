package meta

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
)

// nastySelectors has parts of long selectors: piece is repeated between head and tail.
var nastySelectors = []struct{ head, piece, tail string }{
	{"", "a,", "a"}, {"", "!a,", "a"}, {"", "!", "a"}, {"", "a=b,", "a"}, {"", "a>1,", "a"}, {"", "a in (b),", "a"}, {"a in (", "b,", "b)"},
	{"a in (", ",", ")"}, {"a notin (", "?,", "b)"}, {"a in (", "(", ")"}, {"a", "a", "=b"}, {"a=", "b", ""}, {"", "=", ""}, {"", ",", ""}, {"", " ", ""},
	{"", "a.", "/b"}, {"", "a/", "b"}, {"", "a=b,a!=", "c"}, {"a=", `\`, ""}, {"a=", `\,`, ""}, {"a=", "\xff", ""}, {"", "metadata.name=x,", "y"},
}

// checkSelectorCost bounds what parsing a selector allocates: two bytes make a requirement.
func checkSelectorCost(t *testing.T, s string) {
	t.Helper()
	for name, parse := range map[string]func(){
		"ParseLabels": func() { _, _ = ParseLabels(s) }, "ParseFields": func() { _, _ = ParseFields(s) },
	} {
		var before, after runtime.MemStats
		cost, limit := uint64(math.MaxUint64), uint64(64<<10+256*len(s))
		for i := 0; i < 20 && cost > limit; i++ { // other goroutines allocate at the same time
			runtime.ReadMemStats(&before)
			parse()
			runtime.ReadMemStats(&after)
			cost = after.TotalAlloc - before.TotalAlloc
		}
		if cost > limit {
			t.Errorf("%s(%.40q) of %d bytes: got %d bytes, want at most %d", name, s, len(s), cost, limit)
		}
	}
}

func TestSelectorCost(t *testing.T) {
	for _, n := range nastySelectors {
		for _, size := range []int{10, 1000, 64 << 10} {
			checkSelectorCost(t, n.head+strings.Repeat(n.piece, size/len(n.piece))+n.tail)
		}
	}
}

// TestSelectorErrors: a requirement with many wrong values costs no more than one with a few.
func TestSelectorErrors(t *testing.T) {
	var s strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&s, "?%d,", i)
	}
	if _, err := ParseLabels("a in (" + s.String() + "b)"); err == nil || len(err.Error()) > 64<<10 {
		t.Errorf("got %.300v, want an error of at most 64 KiB", err)
	}
}

// FuzzSelectors parses long selectors of any kind within a budget.
func FuzzSelectors(f *testing.F) {
	for _, n := range nastySelectors {
		f.Add(n.head, n.piece, n.tail, uint16(1000))
	}
	f.Fuzz(func(t *testing.T, head, piece, tail string, times uint16) {
		checkSelectorCost(t, head+strings.Repeat(piece, min(int(times), 64<<10/max(1, len(piece))))+tail)
	})
}
