// Package followtest is the proof of the contract in package follow. Run checks each law of the
// contract on any Source, in a subtest of its name.
//
// Words: a law is one promise of package follow. A Rig is a Source under test with the means to
// change its objects. Following is in step when all objects that exist have been told
// (follow.Batch.InStep).
//
// A law writes objects through the Rig, reads the batches of follow.Changes and compares the two.
// It breaks and delays the streams of the Source itself (breaker.go), so a Source need not be able
// to fail on demand.
//
// The test of a Source calls Run. Nothing outside of tests may import this package.
//
// Not here: promises of a single Source, which its own tests check.
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

// Rig is a Source under test, and functions that change its objects. The functions fail the test if
// a request fails. To the laws, an object is a name and a number.
type Rig[V any] struct {
	Source follow.Source[V]
	// Put creates or updates an object.
	Put func(t testing.TB, name string, n int)
	// Delete deletes an object.
	Delete func(t testing.TB, name string)
	// Forget makes the Source forget its history, so that a stream after an old resource version
	// fails as expired. It may write other objects, but must delete them.
	Forget func(t testing.TB)
	// Number returns the number of an object.
	Number func(t testing.TB, obj V) int
	// Own reports whether the object called name was written by Put. nil means that all were.
	Own func(name follow.Name) bool
}

// Run checks all laws, each in a subtest. At its start there must be no object for which Own is
// true; the laws delete the objects that they write.
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

// patience bounds the wait for a batch, or for the end of following.
const patience = time.Minute

// bench is the state of one law.
type bench[V any] struct {
	testing.TB
	rig   Rig[V]
	there map[string]int // the objects that exist, by name: the state that a reader must arrive at
}

// put writes an object and notes it in there.
func (b *bench[V]) put(name string, n int) {
	b.Helper()
	b.rig.Put(b, name, n)
	b.there[name] = n
}

// delete deletes an object and removes it from there.
func (b *bench[V]) delete(name string) {
	b.Helper()
	b.rig.Delete(b, name)
	delete(b.there, name)
}

// clear deletes the objects that are left at the end of a law.
func (b *bench[V]) clear() {
	for name := range b.there {
		b.rig.Delete(b, name)
	}
}

// reader is a loop over the changes of a Source in a goroutine of its own. All methods belong to
// the goroutine of the law; the channel batches is the only thing that the two share.
type reader[V any] struct {
	b       *bench[V]
	breaker *breaker[V]
	batches chan batch
	stop    context.CancelFunc
	ended   chan struct{} // closed when the loop has ended

	states map[string]int // the objects by the batches that next has returned
}

// batch is a follow.Batch as the laws compare it. A change is written as "name=number", or if Old
// is asked for, "name=before>number". The end of an object is "name!" or "name=before!". names and
// numbers have an element for each change.
type batch struct {
	changes []string
	names   []string
	numbers []int // -1: gone
	inStep  bool
	version string
}

// read begins to follow. The loop of the reader waits until next takes a batch, so a law decides
// how fast it reads. old asks for the old state of each object.
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

// end ends the context of the loop, and checks that the loop ends and closes its stream.
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

// shown returns a batch in the form that the laws compare, without objects of others (Rig.Own). It
// reports a batch that is too long, an object that cannot be read, and an old state that was not
// asked for.
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

// next returns the next batch and adds it to states. It ends the test if none comes within
// patience.
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

// inStep reads until a batch is in step, and returns all changes up to the end of that batch. After
// it the reader has seen every object that exists, so a law may begin to write.
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

// until reads until a batch has the change, and returns all changes up to the end of that batch.
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

// agrees checks that the changes so far add up to the objects that exist.
func (r *reader[V]) agrees() {
	r.b.Helper()
	if got, want := fmt.Sprint(r.states), fmt.Sprint(r.b.there); got != want {
		r.b.Errorf("what was told adds up to %s, want %s", got, want)
	}
}

// equal compares lists of changes, in order.
func (b *bench[V]) equal(what string, got []string, want ...string) {
	b.Helper()
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		b.Errorf("%s: told %q, want %q", what, g, w)
	}
}
