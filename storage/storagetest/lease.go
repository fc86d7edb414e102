package storagetest

import (
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The laws of leases: keys end with their lease, not before, and can leave it. Run (suite.go) calls
// each as a subtest.

// lease grants a lease, which the store must not refuse.
func (b *bench) lease(ttl time.Duration) storage.LeaseID {
	b.Helper()
	id, err := b.Lease(b.ctx, ttl)
	if err != nil || id == 0 {
		b.Fatalf("Lease: got %d, %v", id, err)
	}
	return id
}

// testLeaseEnds checks that the end of a lease deletes its keys, not before its time, with events
// that have the previous values, and that no key can be put with it afterwards. It does not check
// how late the lease may end: etcd, for one, looks for ended leases every half second.
func testLeaseEnds(t *testing.T, e Engine) {
	t.Parallel() // it waits most of the time
	b := open(t, e)
	start := b.rev()
	w := b.watch(storage.WatchRequest{Prefix: "/a/", After: start, Prev: true})
	begin := time.Now()
	id := b.lease(time.Second)
	for i, key := range []string{"/a/x", "/a/y"} {
		if _, err := b.Put(b.ctx, key, value(i), storage.Pre{}, id); err != nil {
			t.Fatalf("Put with lease: %v", err)
		}
	}
	// The two puts come first; the deletions follow when the lease ends. They may share a revision.
	var ends []storage.Event
	for len(ends) < 2 {
		batch, err := w.Next(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.check(batch); err != nil {
			t.Fatal(err)
		}
		for _, ev := range batch.Events {
			if ev.Deleted {
				ends = append(ends, ev)
			}
		}
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("the lease of 1 s ended after %v", took)
	}
	for _, ev := range ends {
		if ev.Prev == nil {
			t.Errorf("a deletion by lease has no previous value: %s", showEvent(ev))
		}
	}
	if got := b.list(storage.RangeRequest{Prefix: "/a/"}); len(got.Entries) != 0 {
		t.Errorf("Range after the end of the lease: got %s", showAll(got.Entries))
	}
	if got := b.rev(); got < w.last {
		t.Errorf("Revision: got %d, below that of an event, %d", got, w.last)
	}
	_, err := b.Put(b.ctx, "/a/z", value(1), storage.Pre{}, id)
	wantKind(t, "Put with an ended lease", err, storage.NoLease)
}

// testLeaseDetaches checks that a key leaves its lease when it is put without a lease, or with
// another lease. Of three keys, stays is put without a lease and moves with a long one; only goes
// must end.
func testLeaseDetaches(t *testing.T, e Engine) {
	t.Parallel() // it waits most of the time
	b := open(t, e)
	id := b.lease(time.Second)
	for _, key := range []string{"/a/stays", "/a/moves", "/a/goes"} {
		if _, err := b.Put(b.ctx, key, value(1), storage.Pre{}, id); err != nil {
			t.Fatal(err)
		}
	}
	b.put("/a/stays", 2, storage.Pre{})
	if _, err := b.Put(b.ctx, "/a/moves", value(2), storage.Pre{}, b.lease(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for {
		if got := b.list(storage.RangeRequest{Prefix: "/a/"}); len(got.Entries) == 2 {
			if got.Entries[0].Key != "/a/moves" || got.Entries[1].Key != "/a/stays" {
				t.Errorf("got %s", showAll(got.Entries))
			}
			return
		} else if len(got.Entries) < 2 || b.ctx.Err() != nil { // too many have ended, or goes never does
			t.Fatalf("got %s", showAll(got.Entries))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// testLeaseUnknown checks that a put with a lease that does not exist fails with NoLease and
// changes nothing. The caller then knows that its lease has ended, and takes a new one.
func testLeaseUnknown(t *testing.T, e Engine) {
	b := open(t, e)
	rev := b.rev()
	_, err := b.Put(b.ctx, "/a/x", value(1), storage.Pre{}, 424242)
	wantKind(t, "Put with an unknown lease", err, storage.NoLease)
	if got := b.rev(); got != rev {
		t.Errorf("Revision: got %d, want %d", got, rev)
	}
}
