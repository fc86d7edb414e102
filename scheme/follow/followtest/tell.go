package followtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The laws of single changes: each is told once, in order, with the old state if that is asked for,
// and across breaks of the stream. Run (suite.go) calls each as a subtest.

// testOrder checks that the existing objects come first, and then each change in the order of
// writes.
func testOrder[V any](t *testing.T, b *bench[V]) {
	b.put("a", 1)
	b.put("b", 2)
	r := b.read(false)
	first := r.inStep()
	slices.Sort(first)
	b.equal("at first", first, "a=1", "b=2")
	var want []string
	for n := range 20 {
		name := string(rune('a' + n%3))
		b.put(name, n)
		want = append(want, fmt.Sprintf("%s=%d", name, n))
	}
	b.delete("b")
	b.put("b", 20)
	b.equal("then", r.until("b=20"), append(want, "b!", "b=20")...)
	r.agrees()
}

// testNoGap checks that each change is told exactly once while streams break during random writes.
// The Source keeps its history, so no change may be merged with another.
func testNoGap[V any](t *testing.T, b *bench[V]) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	r := b.read(false)
	r.inStep()
	var want, got []string
	written := make(chan struct{})
	go func() {
		defer close(written)
		for n := range 120 {
			name := string(rune('a' + random.IntN(5)))
			if _, there := b.there[name]; there && random.IntN(4) == 0 {
				b.delete(name)
				want = append(want, name+"!")
			} else {
				b.put(name, n)
				want = append(want, fmt.Sprintf("%s=%d", name, n))
			}
			switch {
			case n%20 == 7:
				r.breaker.cut(io.EOF)
			case n%20 == 17:
				r.breaker.cut(errBroken)
			}
		}
		b.put("end", 1)
		want = append(want, "end=1")
	}()
	got = r.until("end=1")
	<-written
	b.equal(fmt.Sprintf("with seed %d", seed), got, want...)
	r.agrees()
}

// testResumption checks that after a break with any error, the changes during the break are told,
// and no others: the stream resumes after the last resource version.
func testResumption[V any](t *testing.T, b *bench[V]) {
	b.put("a", 1)
	b.put("gone", 1)
	r := b.read(false)
	r.inStep()
	r.breaker.begun()
	for i, cause := range []error{io.EOF, errBroken, errors.New("another one")} {
		release := r.breaker.hold()
		r.breaker.cut(cause)
		b.put("a", 10+i)
		b.put(fmt.Sprint("new", i), i)
		if i == 1 {
			b.delete("gone")
		}
		b.put("last", i)
		release()
		want := []string{fmt.Sprintf("a=%d", 10+i), fmt.Sprintf("new%d=%d", i, i)}
		if i == 1 {
			want = append(want, "gone!")
		}
		last := fmt.Sprintf("last=%d", i)
		b.equal(cause.Error(), r.until(last), append(want, last)...)
	}
	for _, after := range r.breaker.begun() {
		if after == "" {
			t.Error("a stream began with everything, although the last one had told a revision")
		}
	}
	r.agrees()
}

// testOld checks the old state of each change: the state that was told before, and none for an
// object that is new or was deleted in between. It holds when all objects are told again, too.
func testOld[V any](t *testing.T, b *bench[V]) {
	b.put("a", 1)
	b.put("b", 1)
	r := b.read(true)
	first := r.inStep()
	slices.Sort(first)
	b.equal("at first", first, "a>1", "b>1")
	b.put("a", 2)
	b.delete("a")
	b.put("a", 3)
	b.equal("then", r.until("a>3"), "a=1>2", "a=2!", "a>3")
	release := r.breaker.hold()
	r.breaker.cut(errBroken)
	b.put("a", 4)
	b.delete("b")
	b.put("c", 1)
	b.rig.Forget(b)
	release()
	// The Source has lost the changes themselves. The old states come from what was told before.
	told := r.inStep()
	slices.Sort(told)
	b.equal("after all was told again", told, "a=3>4", "b=1!", "c>1")
}
