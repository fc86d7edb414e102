package followtest

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/scheme/follow"
)

// The laws of a restart: when a Source has forgotten its history, all objects are told again, and
// those that are missing are told as gone. Run (suite.go) calls each as a subtest.

// testWhole checks the changes after the Source has forgotten the time of a break: each existing
// object once, and each object that ended meanwhile once as gone.
func testWhole[V any](t *testing.T, b *bench[V]) {
	for _, name := range []string{"changed", "gone", "anew", "stays"} {
		b.put(name, 1)
	}
	r := b.read(false)
	r.inStep()
	r.breaker.begun()
	release := r.breaker.hold()
	r.breaker.cut(io.EOF)
	b.put("changed", 2)
	b.delete("gone")
	b.delete("anew")
	b.put("anew", 3)
	b.put("new", 4)
	b.put("brief", 5)
	b.delete("brief")
	b.rig.Forget(b)
	release()
	told := r.inStep()
	slices.Sort(told)
	b.equal("after the Source forgot", told, "anew=3", "changed=2", "gone!", "new=4", "stays=1")
	if begun := r.breaker.begun(); len(begun) < 2 || begun[0] == "" || begun[len(begun)-1] != "" {
		t.Errorf("streams began at %q, want one that goes on, and then one with everything", begun)
	}
	r.agrees()
	b.put("stays", 6)
	b.equal("from then on", r.until("stays=6"), "stays=6")
}

// testWholeAfterFailures breaks each stream that tells all objects after its first batch. As long
// as no stream has told all, no object may be told as gone, because it may be in the rest; and no
// batch may be in step.
func testWholeAfterFailures[V any](t *testing.T, b *bench[V]) {
	for i := range follow.MaxChanges + 50 {
		b.put(fmt.Sprintf("o%03d", i), i)
	}
	r := b.read(false)
	r.inStep()
	r.agrees()
	r.breaker.begun()
	release := r.breaker.hold()
	r.breaker.cut(errBroken)
	r.breaker.fail(2) // after one batch, which is not all
	b.delete("o000")
	b.delete("o561")
	b.rig.Forget(b)
	release()
	// Four streams are enough to see that each begins again, and none goes on in the middle.
	for begun := 0; begun < 4; begun += len(r.breaker.begun()) {
		if got := r.next(); got.inStep || slices.Contains(got.numbers, -1) {
			t.Fatalf("told of the end of what is there, or of what is gone, before all was told: %v", got)
		}
	}
	r.breaker.fail(0)
	gone := 0
	for _, change := range r.inStep() {
		if change == "o000!" || change == "o561!" {
			gone++
		}
	}
	if gone != 2 {
		t.Errorf("told of %d objects that are gone, want 2", gone)
	}
	r.agrees()
}

// testBound checks that many objects, and many objects that are gone, come in batches of at most
// MaxChanges changes, and that only the last of these batches is in step.
func testBound[V any](t *testing.T, b *bench[V]) {
	const n = follow.MaxChanges + 100
	for i := range n {
		b.put(fmt.Sprintf("o%03d", i), i)
	}
	r := b.read(false)
	if got := len(r.inStep()); got != n {
		t.Errorf("told of %d objects, want %d", got, n)
	}
	release := r.breaker.hold()
	r.breaker.cut(io.EOF)
	for i := range n {
		b.delete(fmt.Sprintf("o%03d", i))
	}
	b.rig.Forget(b)
	release()
	first := r.next()
	if len(first.changes) != follow.MaxChanges || first.inStep {
		t.Errorf("the first batch of those that are gone has %d, in step: %t", len(first.changes), first.inStep)
	}
	if rest := r.inStep(); len(first.changes)+len(rest) != n {
		t.Errorf("told of %d objects that are gone, want %d", len(first.changes)+len(rest), n)
	}
	r.agrees()
}
