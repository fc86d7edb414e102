package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// The laws of writes: revisions, preconditions, failed, canceled and concurrent writes, sizes, and
// a closed store. Run (suite.go) calls each as a subtest.

// testRevisionsGrow checks that each write takes the next revision, even if it writes the same
// value: a store does not look into values. Other laws compute the revisions that they expect by
// this one.
func testRevisionsGrow(t *testing.T, e Engine) {
	b := open(t, e)
	last := b.rev()
	if last == 0 {
		t.Fatal("the revision of an empty store is 0, which means none")
	}
	// step checks that a write got the next revision, and that Revision reports it.
	step := func(what string, rev storage.Revision) {
		t.Helper()
		if rev != last+1 {
			t.Fatalf("%s: got revision %d, want %d", what, rev, last+1)
		}
		last = rev
		if got := b.rev(); got != rev {
			t.Fatalf("%s: Revision: got %d, want %d", what, got, rev)
		}
	}
	for i := range 3 {
		step("create", b.put("/a/x", i, storage.Pre{Absent: true}))
		step("update", b.put("/a/x", i+1, storage.Pre{Rev: last}))
		step("same value", b.put("/a/x", i+1, storage.Pre{}))
		step("delete", b.del("/a/x", storage.Pre{Rev: last}))
	}
}

// testReadsRaiseNothing checks that no read changes the revision, and that NotFound reports the
// revision at which the key was missing.
func testReadsRaiseNothing(t *testing.T, e Engine) {
	b := open(t, e)
	want := b.put("/a/x", 1, storage.Pre{})
	if _, err := b.Get(b.ctx, "/a/x"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Get(b.ctx, "/a/y")
	if rev := wantKind(t, "Get of no key", err, storage.NotFound); rev != want {
		t.Errorf("Get of no key: got Error.Rev %d, want %d", rev, want)
	}
	b.list(storage.RangeRequest{Prefix: "/a/"})
	b.list(storage.RangeRequest{Prefix: "/none/"})
	b.watch(storage.WatchRequest{Prefix: "/a/"}).Close()
	if got := b.rev(); got != want {
		t.Errorf("Revision after reading: got %d, want %d", got, want)
	}
}

// testPreconditions checks the kind and the revision of the error for each precondition that fails,
// and that writes with a fulfilled precondition succeed. The caller decides by the kind: Exists and
// Conflict become 409, NotFound becomes 404, and a retry after Conflict needs the winner's
// revision.
func testPreconditions(t *testing.T, e Engine) {
	b := open(t, e)
	gone := b.put("/a/gone", 1, storage.Pre{})
	b.del("/a/gone", storage.Pre{})
	old := b.put("/a/x", 1, storage.Pre{})
	now := b.put("/a/x", 2, storage.Pre{})

	for _, tt := range []struct {
		name, key string
		pre       storage.Pre
		want      storage.Kind
		wantRev   storage.Revision // of the error; 0 if it is not checked
	}{
		{"present, must be absent", "/a/x", storage.Pre{Absent: true}, storage.Exists, now},
		{"stale revision", "/a/x", storage.Pre{Rev: old}, storage.Conflict, now},
		{"future revision", "/a/x", storage.Pre{Rev: now + 100}, storage.Conflict, now},
		{"revision of a deleted key", "/a/gone", storage.Pre{Rev: gone}, storage.NotFound, 0},
		{"revision of a key never there", "/a/never", storage.Pre{Rev: old}, storage.NotFound, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.Put(b.ctx, tt.key, value(9), tt.pre, 0)
			if rev := wantKind(t, "Put", err, tt.want); tt.wantRev != 0 && rev != tt.wantRev {
				t.Errorf("Put: got Error.Rev %d, want %d", rev, tt.wantRev)
			}
			if tt.pre.Absent {
				return
			}
			_, err = b.Delete(b.ctx, tt.key, tt.pre)
			if rev := wantKind(t, "Delete", err, tt.want); tt.wantRev != 0 && rev != tt.wantRev {
				t.Errorf("Delete: got Error.Rev %d, want %d", rev, tt.wantRev)
			}
		})
	}
	_, err := b.Delete(b.ctx, "/a/never", storage.Pre{})
	wantKind(t, "Delete of no key", err, storage.NotFound)
	_, err = b.Delete(b.ctx, "/a/gone", storage.Pre{})
	wantKind(t, "Delete of a deleted key", err, storage.NotFound)

	// A deleted key counts as absent, and the failed writes above have left the revision of x
	// alone.
	b.put("/a/gone", 3, storage.Pre{Absent: true})
	b.put("/a/x", 3, storage.Pre{Rev: now})
}

// testFailedWrite checks that writes whose preconditions fail change neither entries nor the
// revision. An engine that takes a revision before it checks the precondition fails here.
func testFailedWrite(t *testing.T, e Engine) {
	b := open(t, e)
	rev := b.put("/a/x", 1, storage.Pre{})
	for _, write := range []func() error{
		func() error { _, err := b.Put(b.ctx, "/a/x", value(2), storage.Pre{Absent: true}, 0); return err },
		func() error { _, err := b.Put(b.ctx, "/a/x", value(2), storage.Pre{Rev: rev - 1}, 0); return err },
		func() error { _, err := b.Put(b.ctx, "/a/y", value(2), storage.Pre{Rev: rev}, 0); return err },
		func() error { _, err := b.Delete(b.ctx, "/a/x", storage.Pre{Rev: rev - 1}); return err },
		func() error { _, err := b.Delete(b.ctx, "/a/y", storage.Pre{}); return err },
	} {
		if write() == nil {
			t.Fatal("a write that must fail did not")
		}
	}
	if got := b.rev(); got != rev {
		t.Errorf("Revision: got %d, want %d", got, rev)
	}
	if got := b.list(storage.RangeRequest{Prefix: "/a/"}).Entries; len(got) != 1 || got[0].Rev != rev ||
		string(got[0].Value) != string(value(1)) {
		t.Errorf("Range: got %s", showAll(got))
	}
}

// testConcurrentWriters checks optimistic locking: writers that read a number, add one and write
// with the revision that they have read lose no addition, and no two writes share a revision. An
// engine that checks the precondition and writes in two steps fails here.
func testConcurrentWriters(t *testing.T, e Engine) {
	b := open(t, e)
	const writers, each = 8, 20
	b.put("/a/sum", 0, storage.Pre{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[storage.Revision]bool{}
	for range writers {
		wg.Go(func() {
			for done := 0; done < each; {
				// A Conflict means that another writer was quicker: this one reads again. Any other
				// error is a failure of the store.
				cur, err := b.Get(b.ctx, "/a/sum")
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(strings.Trim(string(cur.Value), `{"n:}`))
				next, err := b.Put(b.ctx, "/a/sum", value(n+1), storage.Pre{Rev: cur.Rev}, 0)
				if errors.Is(err, storage.Conflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				// Two writes at one revision would break the law that every change has its own.
				if seen[next.Rev] {
					t.Errorf("two writes at revision %d", next.Rev)
				}
				seen[next.Rev] = true
				mu.Unlock()
				done++
			}
		})
	}
	wg.Wait()
	if got, err := b.Get(b.ctx, "/a/sum"); err != nil || string(got.Value) != string(value(writers*each)) {
		t.Errorf("sum: got %s, %v, want %s", show(got), err, value(writers*each))
	}
}

// testCanceled checks that a write whose context has ended before the call does nothing. If the
// context ends during the call, the outcome may be in doubt, so no law says what happens then.
func testCanceled(t *testing.T, e Engine) {
	b := open(t, e)
	rev := b.rev()
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.Put(ctx, "/a/x", value(1), storage.Pre{}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: got %v, want %v", err, context.Canceled)
	}
	if _, err := b.Delete(ctx, "/a/x", storage.Pre{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete: got %v, want %v", err, context.Canceled)
	}
	if got := b.rev(); got != rev {
		t.Errorf("Revision: got %d, want %d", got, rev)
	}
}

// testValues checks that values and keys of all kinds are returned as they were put, byte by byte.
// Values are opaque: JSON, protobuf or ciphertext, also empty. Keys have the characters that names
// of objects may have, and dots, because an engine may use keys as file names.
func testValues(t *testing.T, e Engine) {
	b := open(t, e)
	values := []string{`{}`, `{"a":"ü\n\"<>&"}`, `{"n":12345678901234567890.12345678901234567890}`,
		`{"deep":[{"x":[1,2,{"y":null}]},"s",true,1e400]}`, `{"big":"` + strings.Repeat("x", 1<<20) + `"}`,
		"", "\x00", "k8s\x00\xff\xfe binary", strings.Repeat("\x00\xff", 4096)}
	for i, v := range values {
		key := fmt.Sprintf("/values/ns/name-%d.x", i)
		if _, err := b.Put(b.ctx, key, []byte(v), storage.Pre{Absent: true}, 0); err != nil {
			t.Fatalf("Put(%.40q): %v", v, err)
		}
		got, err := b.Get(b.ctx, key)
		if err != nil || string(got.Value) != v {
			t.Errorf("Get: got %.60q, %v, want %.60q", got.Value, err, v)
		}
	}
	// Some keys differ in case only, or look like path elements and escapes.
	for _, key := range []string{"/a/with space", "/a/ü", "/a/..", "/a/.hidden", "/a/A", "/a/a", "/a/x:y", "/a/%2F",
		"/a/x.yaml", "/a/long-" + strings.Repeat("n", 240)} {
		b.put(key, 1, storage.Pre{Absent: true})
		if got, err := b.Get(b.ctx, key); err != nil || got.Key != key {
			t.Errorf("Get(%q): got %s, %v", key, show(got), err)
		}
	}
	if got := b.list(storage.RangeRequest{Prefix: "/a/"}); got.Count != 10 {
		t.Errorf("Range: got %d keys, want 10: %s", got.Count, showAll(got.Entries))
	}
}

// testTooLarge checks that a value of MaxValue bytes is refused with TooLarge and changes nothing.
// The error must be certain: InDoubt would make the caller read before it answers.
func testTooLarge(t *testing.T, e Engine) {
	b := open(t, e)
	rev := b.rev()
	// The key makes the request larger than MaxValue in any case.
	v := []byte(`{"v":"` + strings.Repeat("x", e.MaxValue) + `"}`)
	_, err := b.Put(b.ctx, "/a/x", v, storage.Pre{}, 0)
	wantKind(t, "Put of a large value", err, storage.TooLarge)
	if got := b.rev(); got != rev {
		t.Errorf("Revision: got %d, want %d", got, rev)
	}
}

// testReadSeesAcknowledged checks that Get, Range and Revision see a write as soon as it has been
// acknowledged. Clients rely on it when they read their own writes, and the cache when it waits for
// the revision that Revision returned.
func testReadSeesAcknowledged(t *testing.T, e Engine) {
	b := open(t, e)
	for i := range 50 {
		rev := b.put("/a/x", i, storage.Pre{})
		got, err := b.Get(b.ctx, "/a/x")
		if err != nil || got.Rev != rev || string(got.Value) != string(value(i)) {
			t.Fatalf("Get: got %s, %v, want revision %d", show(got), err, rev)
		}
		if list := b.list(storage.RangeRequest{Prefix: "/a/"}); list.Rev < rev || len(list.Entries) != 1 ||
			list.Entries[0].Rev != rev {
			t.Fatalf("Range: got revision %d: %s, want %d", list.Rev, showAll(list.Entries), rev)
		}
		if got := b.rev(); got < rev {
			t.Fatalf("Revision: got %d, want at least %d", got, rev)
		}
	}
}

// testClosed checks that Close can be repeated, and that every operation after it fails with
// Closed. At shutdown, requests that are still running arrive here.
func testClosed(t *testing.T, e Engine) {
	b := open(t, e)
	b.put("/a/x", 1, storage.Pre{})
	if err := b.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	_, err := b.Get(b.ctx, "/a/x")
	wantKind(t, "Get", err, storage.Closed)
	_, err = b.Range(b.ctx, storage.RangeRequest{Prefix: "/a/"})
	wantKind(t, "Range", err, storage.Closed)
	_, err = b.Put(b.ctx, "/a/x", value(1), storage.Pre{}, 0)
	wantKind(t, "Put", err, storage.Closed)
	_, err = b.Delete(b.ctx, "/a/x", storage.Pre{})
	wantKind(t, "Delete", err, storage.Closed)
	_, err = b.Watch(b.ctx, storage.WatchRequest{Prefix: "/a/"})
	wantKind(t, "Watch", err, storage.Closed)
	_, err = b.Lease(b.ctx, 1e9)
	wantKind(t, "Lease", err, storage.Closed)
	_, err = b.Revision(b.ctx)
	wantKind(t, "Revision", err, storage.Closed)
	wantKind(t, "Compact", b.Compact(b.ctx, 1), storage.Closed)
}
