package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The laws of cursors: which events they yield, from which revision, and how they end. Run
// (suite.go) calls each as a subtest.

// showEvent returns an event as text, to be compared and printed.
func showEvent(ev storage.Event) string {
	return fmt.Sprintf("%s@%d=%.40q deleted=%v created=%v prev=%.40q@%d", ev.Key, ev.Rev, ev.Value, ev.Deleted,
		ev.Created, ev.Prev, ev.PrevRev)
}

// testWatchEvents checks the fields of the events of a create, an update, a deletion and another
// create, with and without previous values.
func testWatchEvents(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.rev()
	r1 := b.put("/a/x", 1, storage.Pre{})
	r2 := b.put("/a/x", 2, storage.Pre{})
	r3 := b.del("/a/x", storage.Pre{})
	r4 := b.put("/a/x", 3, storage.Pre{})
	want := []storage.Event{
		{Key: "/a/x", Rev: r1, Value: value(1), Created: true},
		{Key: "/a/x", Rev: r2, Value: value(2), Prev: value(1), PrevRev: r1},
		{Key: "/a/x", Rev: r3, Deleted: true, Prev: value(2), PrevRev: r2},
		{Key: "/a/x", Rev: r4, Value: value(3), Created: true},
	}
	for _, prev := range []bool{true, false} {
		got := b.watch(storage.WatchRequest{Prefix: "/a/", After: start, Prev: prev}).until(r4)
		if len(got) != len(want) {
			t.Fatalf("prev=%v: got %d events, want %d", prev, len(got), len(want))
		}
		for i, w := range want {
			if !prev {
				w.Prev, w.PrevRev = nil, 0
			}
			if showEvent(got[i]) != showEvent(w) {
				t.Errorf("prev=%v: event %d: got %s, want %s", prev, i, showEvent(got[i]), showEvent(w))
			}
			if w.Deleted && got[i].Value != nil {
				t.Errorf("prev=%v: event %d: a deletion has a value", prev, i)
			}
		}
	}
}

// testWatchFromNow checks that a watch without a revision yields the changes after it was opened,
// and no earlier ones. The write that follows Watch must be yielded: Watch has returned only when
// the position of the cursor is fixed.
func testWatchFromNow(t *testing.T, e Engine) {
	b := open(t, e)
	b.put("/a/x", 1, storage.Pre{})
	w := b.watch(storage.WatchRequest{Prefix: "/a/"})
	rev := b.put("/a/x", 2, storage.Pre{})
	got := w.until(rev)
	if len(got) != 1 || got[0].Rev != rev || got[0].Created {
		t.Errorf("got %d events, want the one after Watch returned: %v", len(got), got)
	}
}

// testWatchPrefix checks that a watch yields the changes under its prefix and no others. Some keys
// differ from the prefix only by a slash, as the keys of two resources may.
func testWatchPrefix(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.rev()
	for i, key := range []string{"/a/x", "/a", "/ab/x", "/b/x", "/a/b/x", "/a0"} {
		b.put(key, i, storage.Pre{})
	}
	end := b.rev()
	for _, tt := range []struct {
		prefix string
		want   []string
	}{
		{"/a/", []string{"/a/x", "/a/b/x"}},
		{"/", []string{"/a/x", "/a", "/ab/x", "/b/x", "/a/b/x", "/a0"}},
		{"/none/", nil},
	} {
		var got []string
		for _, ev := range b.watch(storage.WatchRequest{Prefix: tt.prefix, After: start}).until(end) {
			got = append(got, ev.Key)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Watch(%s): got %v, want %v", tt.prefix, got, tt.want)
		}
	}
}

// testWatchResumes checks that a watch after the revision of any event yields the same later
// events, in all fields. A client resumes so after its connection broke.
func testWatchResumes(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.rev()
	const n = 60
	for i := range n {
		b.put(fmt.Sprintf("/a/%d", i%7), i, storage.Pre{})
	}
	end := b.rev()
	all := b.watch(storage.WatchRequest{Prefix: "/a/", After: start, Prev: true}).until(end)
	if len(all) != n {
		t.Fatalf("got %d events, want %d", len(all), n)
	}
	for i := 0; i < n; i += 7 {
		got := b.watch(storage.WatchRequest{Prefix: "/a/", After: all[i].Rev, Prev: true}).until(end)
		if len(got) != n-i-1 {
			t.Fatalf("after event %d: got %d events, want %d", i, len(got), n-i-1)
		}
		for j, ev := range got {
			if showEvent(ev) != showEvent(all[i+1+j]) {
				t.Fatalf("after event %d: got %s, want %s", i, showEvent(ev), showEvent(all[i+1+j]))
			}
		}
	}
}

// testWatchConcurrent checks that several cursors yield every change of several writers, once and
// in order.
func testWatchConcurrent(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.rev()
	const writers, each, watchers = 4, 150, 3
	var wg sync.WaitGroup
	results := make([][]storage.Event, watchers)
	total := storage.Revision(writers * each)
	// Some cursors ask for previous values, because an engine may serve those on another path.
	for i := range watchers {
		w := b.watch(storage.WatchRequest{Prefix: "/a/", After: start, Prev: i%2 == 0})
		wg.Go(func() {
			for w.last < start+total {
				batch, err := w.Next(b.ctx)
				if err != nil {
					t.Errorf("Next: %v", err)
					return
				}
				if err := w.check(batch); err != nil {
					t.Error(err)
					return
				}
				results[i] = append(results[i], batch.Events...)
			}
		})
	}
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				if _, err := b.Put(b.ctx, fmt.Sprintf("/a/%d-%d", i, n%5), value(n), storage.Pre{}, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i, events := range results {
		if len(events) != int(total) {
			t.Fatalf("watcher %d: got %d events, want %d", i, len(events), total)
		}
		for j, ev := range events {
			if want := start + 1 + storage.Revision(j); ev.Rev != want {
				t.Fatalf("watcher %d: event %d: got revision %d, want %d", i, j, ev.Rev, want)
			}
		}
	}
}

// testWatchProgress checks that Progress brings a batch with the present revision although no key
// under the prefix changes. The cache serves consistent reads of a quiet resource by it.
func testWatchProgress(t *testing.T, e Engine) {
	b := open(t, e)
	w := b.watch(storage.WatchRequest{Prefix: "/quiet/"})
	for i := range 3 {
		rev := b.put("/loud/x", i, storage.Pre{})
		if got := w.until(rev); len(got) != 0 {
			t.Fatalf("got events %v of another prefix", got)
		}
		if w.last != rev {
			t.Fatalf("progress: got revision %d, want %d", w.last, rev)
		}
	}
	rev := b.put("/quiet/x", 1, storage.Pre{})
	if got := w.until(rev); len(got) != 1 {
		t.Errorf("got %d events after progress, want 1", len(got))
	}
}

// testWatchCompacted checks that a watch from before a compaction fails with Compacted, and that
// open cursors that have passed the compacted revision go on without a gap.
func testWatchCompacted(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.put("/a/x", 0, storage.Pre{})
	open := b.watch(storage.WatchRequest{Prefix: "/a/"})
	for i := range 10 {
		b.put("/a/x", i, storage.Pre{})
	}
	now := b.rev()
	open.until(now)
	if err := b.Compact(b.ctx, now); err != nil {
		t.Fatal(err)
	}
	// An engine may report the compaction at Watch or at the first Next.
	c, err := b.Watch(b.ctx, storage.WatchRequest{Prefix: "/a/", After: start})
	if err == nil {
		b.Cleanup(c.Close)
		_, err = c.Next(b.ctx)
	}
	wantKind(t, "Watch from before the compaction", err, storage.Compacted)

	rev := b.put("/a/x", 99, storage.Pre{})
	if got := open.until(rev); len(got) != 1 {
		t.Errorf("a cursor past the compaction: got %d events, want 1", len(got))
	}
	if got := b.watch(storage.WatchRequest{Prefix: "/a/", After: now}).until(rev); len(got) != 1 {
		t.Errorf("a watch after the compacted revision: got %d events, want 1", len(got))
	}
}

// testWatchSlow checks that a cursor that is not read delays neither writers nor other cursors, and
// that it yields everything later or ends with Compacted.
func testWatchSlow(t *testing.T, e Engine) {
	b := open(t, e)
	start := b.rev()
	slow := b.watch(storage.WatchRequest{Prefix: "/a/"})
	slow.last = start
	quick := b.watch(storage.WatchRequest{Prefix: "/a/"})
	quick.last = start
	// If the slow cursor blocked the writers or the quick cursor, this loop would not end.
	const n = 500
	for i := range n {
		rev := b.put("/a/x", i, storage.Pre{})
		if i%50 == 0 {
			quick.until(rev)
		}
	}
	quick.until(b.rev())
	var got []storage.Event
	for slow.last < b.rev() {
		slow.Progress()
		batch, err := slow.Next(b.ctx)
		if errors.Is(err, storage.Compacted) {
			return // an engine may drop a slow cursor
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := slow.check(batch); err != nil {
			t.Fatal(err)
		}
		got = append(got, batch.Events...)
	}
	if len(got) != n {
		t.Errorf("slow cursor: got %d events, want %d", len(got), n)
	}
}

// testWatchEnds checks that the end of a context ends one Next and not the cursor, and that Close
// of the cursor or of the store ends a blocked Next with Closed. Shutdown waits for all cursors, so
// a Next that stays blocked would keep the server from ending.
func testWatchEnds(t *testing.T, e Engine) {
	b := open(t, e)
	w := b.watch(storage.WatchRequest{Prefix: "/a/"})
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Next: got %v, want %v", err, context.DeadlineExceeded)
	}
	rev := b.put("/a/x", 1, storage.Pre{})
	if got := w.until(rev); len(got) != 1 {
		t.Fatalf("after the end of a context: got %d events, want 1", len(got))
	}
	// ends checks that end ends a blocked Next with Closed, and that Next fails with Closed from
	// then on.
	ends := func(what string, end func()) {
		t.Helper()
		w := b.watch(storage.WatchRequest{Prefix: "/a/"})
		errs := make(chan error, 1)
		go func() {
			_, err := w.Next(b.ctx)
			errs <- err
		}()
		time.Sleep(5 * time.Millisecond) // Next is probably blocked by then
		end2 := end
		if end2 == nil {
			end2 = w.Close
		}
		end2()
		wantKind(t, what, <-errs, storage.Closed)
		_, err := w.Next(b.ctx)
		wantKind(t, what+", again", err, storage.Closed)
		w.Close()
	}
	ends("Next of a closed cursor", nil)
	ends("Next of a closed store", func() { b.Close() })
}

// testListThenWatch checks, while writers run, that a range and the events of a watch from its
// revision give the final state. Every informer of Kubernetes is built on this law: no change may
// fall between the list and the watch, and none may be in both.
func testListThenWatch(t *testing.T, e Engine) {
	b := open(t, e)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			for n := range 2000 {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("/a/%d-%d", i, n%9)
				if n%4 == 3 {
					b.Delete(b.ctx, key, storage.Pre{})
				} else {
					b.Put(b.ctx, key, value(n), storage.Pre{}, 0)
				}
			}
		})
	}
	// A pair is the state of a range and the watch from its revision. Applying the watch's events
	// to the state must give the final state.
	type pair struct {
		state map[string]storage.Revision
		w     *watcher
	}
	var pairs []pair
	for range 10 { // at ten moments, each in the middle of the writes
		list := b.list(storage.RangeRequest{Prefix: "/a/"})
		state := map[string]storage.Revision{}
		for _, e := range list.Entries {
			state[e.Key] = e.Rev
		}
		pairs = append(pairs, pair{state, b.watch(storage.WatchRequest{Prefix: "/a/", After: list.Rev})})
		time.Sleep(2 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	end := b.list(storage.RangeRequest{Prefix: "/a/"})
	for i, p := range pairs {
		for _, ev := range p.w.until(end.Rev) {
			_, had := p.state[ev.Key]
			if !ev.Deleted && ev.Created == had || ev.Deleted && !had {
				t.Fatalf("pair %d: event %s, key there before: %v", i, showEvent(ev), had)
			}
			if p.state[ev.Key] = ev.Rev; ev.Deleted {
				delete(p.state, ev.Key)
			}
		}
		for _, e := range end.Entries {
			if p.state[e.Key] != e.Rev {
				t.Errorf("pair %d: %s: got revision %d, want %d", i, e.Key, p.state[e.Key], e.Rev)
			}
		}
		if len(p.state) != len(end.Entries) {
			t.Errorf("pair %d: got %d keys, want %d", i, len(p.state), len(end.Entries))
		}
	}
}
