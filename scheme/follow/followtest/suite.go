// Package followtest is the proof of the contract in package follow: Run checks every law on any
// Source. Each law writes through a Rig, reads what follow.Changes tells, and compares the two.
// Streams are broken, held and made to fail by the suite itself (breaker.go).
//
// Read: suite.go, then the laws: tell.go, whole.go, end.go.
package followtest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/follow"
)

// Rig is a Source under test, and the way to change what it tells of. Its functions fail the test
// if something else fails. An object that the laws write is a name and a number.
type Rig[V any] struct {
	Source follow.Source[V]
	// Put creates or updates an object.
	Put func(t testing.TB, name string, n int)
	// Delete deletes an object.
	Delete func(t testing.TB, name string)
	// Forget has the Source forget what has happened so far. It may write other objects, and
	// deletes them again.
	Forget func(t testing.TB)
	// Number is the number of an object.
	Number func(t testing.TB, obj V) int
	// Own reports whether the laws have written the object of a name. nil: they have written all.
	Own func(name follow.Name) bool
}

// Run checks all laws, each in a subtest. There must be no object that the laws have written; they
// leave none behind.
func Run[V any](t *testing.T, rig Rig[V]) {
	for _, law := range []struct {
		name string
		test func(*testing.T, *bench[V])
	}{
		{"Order", testOrder[V]},
		{"NoGap", testNoGap[V]},
		{"Resumption", testResumption[V]},
		{"Whole", testWhole[V]},
		{"WholeAfterFailures", testWholeAfterFailures[V]},
		{"Bound", testBound[V]},
		{"SlowReader", testSlowReader[V]},
		{"Old", testOld[V]},
		{"End", testEnd[V]},
	} {
		t.Run(law.name, func(t *testing.T) {
			b := &bench[V]{TB: t, rig: rig, there: map[string]int{}}
			t.Cleanup(b.clear)
			law.test(t, b)
		})
	}
}

// patience is how long a law waits for what has to come.
const patience = time.Minute

// bench is the state of one law.
type bench[V any] struct {
	testing.TB
	rig   Rig[V]
	there map[string]int // what has been written
}

func (b *bench[V]) put(name string, n int) {
	b.Helper()
	b.rig.Put(b, name, n)
	b.there[name] = n
}

func (b *bench[V]) delete(name string) {
	b.Helper()
	b.rig.Delete(b, name)
	delete(b.there, name)
}

func (b *bench[V]) clear() {
	for name := range b.there {
		b.rig.Delete(b, name)
	}
}

// reader is a loop over the changes of a Source in a goroutine of its own.
type reader[V any] struct {
	b       *bench[V]
	breaker *breaker[V]
	batches chan batch
	stop    context.CancelFunc
	ended   chan struct{} // closed when the loop has ended

	states map[string]int // as they have been told
}

// batch is a follow.Batch as the laws compare it: a change is "name=number", with Old
// "name=before>number", and "name!" or "name=before!" of one that is gone.
type batch struct {
	changes []string
	names   []string
	numbers []int // -1: gone
	inStep  bool
	version string
}

// read begins to follow. The reader waits until each batch is taken.
func (b *bench[V]) read(old bool) *reader[V] {
	ctx, stop := context.WithCancel(b.Context())
	r := &reader[V]{
		b: b, breaker: newBreaker(b.rig.Source), batches: make(chan batch), stop: stop,
		ended: make(chan struct{}), states: map[string]int{},
	}
	options := follow.Options{Old: old, MaxPause: time.Millisecond, Failed: func(error) {}}
	go func() {
		defer close(r.ended)
		for batch := range follow.Changes(ctx, follow.Source[V](r.breaker), options) {
			select {
			case r.batches <- b.shown(batch, old):
			case <-ctx.Done():
			}
		}
	}()
	b.Cleanup(r.end)
	return r
}

// end ends the loop, and wants it to end at once with nothing left open.
func (r *reader[V]) end() {
	r.stop()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.b.Fatal("following does not end with its context")
	}
	if n := r.breaker.open.Load(); n != 0 {
		r.b.Errorf("%d streams are left open", n)
	}
}

// shown turns a batch into what the laws compare.
func (b *bench[V]) shown(from follow.Batch[V], old bool) batch {
	if len(from.Changes) > follow.MaxChanges {
		b.Errorf("a batch has %d changes, more than %d", len(from.Changes), follow.MaxChanges)
	}
	to := batch{inStep: from.InStep, version: from.ResourceVersion}
	for _, ch := range from.Changes {
		switch {
		case b.rig.Own != nil && !b.rig.Own(ch.Name):
			continue
		case ch.Unread != nil:
			b.Errorf("%v cannot be read: %v", ch.Name, ch.Unread)
			continue
		}
		text, number := ch.Name.Name, -1
		var none V
		if was := any(ch.Old) != any(none); was && old {
			text += "=" + strconv.Itoa(b.rig.Number(b, ch.Old))
		} else if was {
			b.Errorf("%v has an old state that nobody asked for", ch.Name)
		}
		if ch.Gone {
			text += "!"
		} else {
			number = b.rig.Number(b, ch.New)
			text += map[bool]string{true: ">", false: "="}[old] + strconv.Itoa(number)
		}
		to.changes, to.names = append(to.changes, text), append(to.names, ch.Name.Name)
		to.numbers = append(to.numbers, number)
	}
	return to
}

// next returns the next batch.
func (r *reader[V]) next() batch {
	r.b.Helper()
	select {
	case got := <-r.batches:
		for i, name := range got.names {
			if got.numbers[i] < 0 {
				delete(r.states, name)
			} else {
				r.states[name] = got.numbers[i]
			}
		}
		if got.inStep && got.version == "" {
			r.b.Error("a batch is in step with no revision")
		}
		return got
	case <-time.After(patience):
		r.b.Fatal("nothing is told any more")
		return batch{}
	}
}

// inStep reads until a batch is in step and returns what was told.
func (r *reader[V]) inStep() (changes []string) {
	r.b.Helper()
	for {
		got := r.next()
		changes = append(changes, got.changes...)
		if got.inStep {
			return changes
		}
	}
}

// until reads until a change is told, and returns what was told.
func (r *reader[V]) until(change string) (changes []string) {
	r.b.Helper()
	for {
		got := r.next()
		changes = append(changes, got.changes...)
		for _, ch := range got.changes {
			if ch == change {
				return changes
			}
		}
	}
}

// agrees wants what was told to add up to what has been written.
func (r *reader[V]) agrees() {
	r.b.Helper()
	if got, want := fmt.Sprint(r.states), fmt.Sprint(r.b.there); got != want {
		r.b.Errorf("what was told adds up to %s, want %s", got, want)
	}
}

func (b *bench[V]) equal(what string, got []string, want ...string) {
	b.Helper()
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		b.Errorf("%s: told %q, want %q", what, g, w)
	}
}
