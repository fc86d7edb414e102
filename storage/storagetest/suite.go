// Package storagetest is the proof of the contract in package storage. Run checks each law of the
// contract on any engine or wrapper, in a subtest of its name.
//
// Words: a law is one promise of package storage. A bench is one store under test. Faulty is a
// store that fails on demand, for tests of packages that are built on a store.
//
// Laws of the suite itself:
//   - A law uses the methods of storage.Store only, so it holds for every engine and wrapper.
//   - Only the laws of leases depend on time. Where others sleep, that makes a failure likelier to
//     show, and a correct store passes at any speed.
//   - Each law gets an empty store of its own, so laws do not depend on their order.
//
// The test of an engine calls Run with functions that open its store. Faulty may be used by any
// test; nothing outside of tests may import this package.
//
// Not here: what only one engine promises; that is in the tests of the engine.
//
// Read: suite.go, then the laws: write.go, fence.go, read.go, watch.go, shown.go, lease.go,
// restart.go, bytes.go, random.go, and faulty.go.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Engine says how to open the stores to test.
type Engine struct {
	// Open returns an empty store. The test closes it, perhaps twice. Several tests may call Open
	// at once.
	Open func(t *testing.T) storage.Store
	// Reopen returns a store over the data of s, which has been closed. If the engine keeps nothing
	// over a restart, Reopen is nil, and the laws of restarts pass.
	Reopen func(t *testing.T, s storage.Store) storage.Store
	// MaxValue is a size of a value in bytes that the engine must refuse, default 2 MiB.
	MaxValue int
}

// Run checks all laws on the engine, each in a subtest with a store of its own. A failure names the
// law, and for random operations the seed.
func Run(t *testing.T, e Engine) {
	if e.MaxValue == 0 {
		e.MaxValue = 2 << 20
	}
	for _, law := range []struct {
		name string
		test func(*testing.T, Engine)
	}{
		{"RevisionsGrow", testRevisionsGrow},
		{"ReadsRaiseNothing", testReadsRaiseNothing},
		{"Preconditions", testPreconditions},
		{"FailedWriteChangesNothing", testFailedWrite},
		{"ConcurrentWritersLoseNothing", testConcurrentWriters},
		{"Fences", testFences},
		{"FencesCutOff", testFencesCutOff},
		{"Canceled", testCanceled},
		{"ValuesComeBack", testValues},
		{"TooLarge", testTooLarge},
		{"ReadSeesAcknowledged", testReadSeesAcknowledged},
		{"RangeOrderAndPrefix", testRangeOrder},
		{"RangePages", testRangePages},
		{"RangeAtRevision", testRangeAtRevision},
		{"Compact", testCompact},
		{"WatchEvents", testWatchEvents},
		{"WatchFromNow", testWatchFromNow},
		{"WatchPrefix", testWatchPrefix},
		{"WatchResumes", testWatchResumes},
		{"WatchConcurrent", testWatchConcurrent},
		{"WatchProgress", testWatchProgress},
		{"WatchCompacted", testWatchCompacted},
		{"WatchSlowDelaysNobody", testWatchSlow},
		{"WatchEnds", testWatchEnds},
		{"ShownCanBeRead", testShown},
		{"ListThenWatch", testListThenWatch},
		{"LeaseEnds", testLeaseEnds},
		{"LeaseDetaches", testLeaseDetaches},
		{"LeaseUnknown", testLeaseUnknown},
		{"Closed", testClosed},
		{"Restart", testRestart},
		{"RestartKeepsBytes", testRestartKeepsBytes},
		{"Random", testRandom},
	} {
		t.Run(law.name, func(t *testing.T) { law.test(t, e) })
	}
}

// bench is one store under test. Its methods in lower case fail the test if the store's method
// fails.
type bench struct {
	*testing.T
	storage.Store
	e   Engine
	ctx context.Context // ends with the test, or after three minutes, so that no law hangs
}

// open opens an empty store and closes it at the end of the test. It is the first line of each law.
func open(t *testing.T, e Engine) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	b := &bench{T: t, Store: e.Open(t), e: e, ctx: ctx}
	t.Cleanup(func() { b.Store.Close() })
	return b
}

// value returns a small JSON value that contains n.
func value(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) }

// put puts value(n) at key without a lease and returns its revision. It checks that the entry that
// the store returns is the one that was put.
func (b *bench) put(key string, n int, pre storage.Pre) storage.Revision {
	b.Helper()
	e, err := b.Put(b.ctx, key, value(n), pre, 0)
	if err != nil {
		b.Fatalf("Put(%s, %+v): %v", key, pre, err)
	}
	if e.Key != key || string(e.Value) != string(value(n)) || e.Rev == 0 {
		b.Fatalf("Put(%s): got %s", key, show(e))
	}
	return e.Rev
}

// del deletes key and returns the revision of the deletion.
func (b *bench) del(key string, pre storage.Pre) storage.Revision {
	b.Helper()
	rev, err := b.Delete(b.ctx, key, pre)
	if err != nil {
		b.Fatalf("Delete(%s, %+v): %v", key, pre, err)
	}
	return rev
}

// rev returns the current revision of the store.
func (b *bench) rev() storage.Revision {
	b.Helper()
	rev, err := b.Revision(b.ctx)
	if err != nil {
		b.Fatalf("Revision: %v", err)
	}
	return rev
}

// list ranges over the store. It returns entries, count and revision as the store does.
func (b *bench) list(req storage.RangeRequest) storage.RangeResult {
	b.Helper()
	res, err := b.Range(b.ctx, req)
	if err != nil {
		b.Fatalf("Range(%+v): %v", req, err)
	}
	return res
}

// watch opens a cursor that is closed at the end of the test.
func (b *bench) watch(req storage.WatchRequest) *watcher {
	b.Helper()
	c, err := b.Watch(b.ctx, req)
	if err != nil {
		b.Fatalf("Watch(%+v): %v", req, err)
	}
	b.Cleanup(c.Close)
	return &watcher{b: b, Cursor: c, last: req.After}
}

// watcher is a cursor whose batches are checked for order by until and check. Laws compare the
// events themselves with the writes, for completeness.
type watcher struct {
	b *bench
	storage.Cursor
	last storage.Revision // Batch.Rev of the last batch
}

// until returns the events up to revision rev. It asks for progress before each Next, so that it
// ends even if no event has that revision.
func (w *watcher) until(rev storage.Revision) []storage.Event {
	w.b.Helper()
	var all []storage.Event
	for w.last < rev {
		w.Progress()
		batch, err := w.Next(w.b.ctx)
		if err != nil {
			w.b.Fatalf("Next, at %d of %d: %v", w.last, rev, err)
		}
		if err := w.check(batch); err != nil {
			w.b.Fatal(err)
		}
		all = append(all, batch.Events...)
	}
	return all
}

// check returns an error if a batch is out of order: revisions within a batch do not fall, and they
// are above those of earlier batches. Several events may share a revision. check sets last to the
// batch's revision.
func (w *watcher) check(batch storage.Batch) error {
	rev := w.last
	for i, ev := range batch.Events {
		if ev.Rev < rev || (i == 0 && ev.Rev == rev) {
			return fmt.Errorf("event out of order: revision %d after %d", ev.Rev, rev)
		}
		rev = ev.Rev
	}
	if batch.Rev < rev {
		return fmt.Errorf("batch revision %d is below %d", batch.Rev, rev)
	}
	w.last = batch.Rev
	return nil
}

// wantKind ends the test unless err is of the kind want. It returns the revision in the error, 0 if
// it has none.
func wantKind(t testing.TB, what string, err error, want storage.Kind) storage.Revision {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want kind %q", what, err, want.Error())
	}
	var e *storage.Error
	errors.As(err, &e)
	return e.Rev
}

// show returns an entry as text, to be compared and printed: key@revision=value, the value cut.
func show(e storage.Entry) string { return fmt.Sprintf("%s@%d=%.40q", e.Key, e.Rev, e.Value) }

// showAll returns entries as text, to be compared and printed.
func showAll(list []storage.Entry) string {
	s := ""
	for _, e := range list {
		s += show(e) + " "
	}
	return s
}
