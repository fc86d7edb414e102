package storagetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coracle-project/coracle/storage"
)

// The laws of reads: order, prefixes and pages of Range, past revisions, and Compact. Run
// (suite.go) calls each as a subtest.

// keys returns the keys of entries.
func keys(list []storage.Entry) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		out = append(out, e.Key)
	}
	return out
}

// testRangeOrder checks that Range returns the keys with a prefix, and no others, in byte order,
// and that After leaves out all keys up to it, whether that key exists or not. The keys are such
// that an order by path elements, or by a file system, differs from byte order.
func testRangeOrder(t *testing.T, e Engine) {
	b := open(t, e)
	for i, key := range []string{"/b/z", "/a/b/y", "/a/b", "/a/a", "/a/b/x", "/ab/q", "/a/b.c/x", "/a/c/x"} {
		b.put(key, i, storage.Pre{})
	}
	rev := b.rev()
	for _, tt := range []struct {
		prefix, after string
		want          []string
	}{
		{"/a/", "", []string{"/a/a", "/a/b", "/a/b.c/x", "/a/b/x", "/a/b/y", "/a/c/x"}},
		{"/a/b/", "", []string{"/a/b/x", "/a/b/y"}},
		{"/a/b/", "/a/b/x", []string{"/a/b/y"}},
		{"/a/b/", "/a/b/xx", []string{"/a/b/y"}},
		{"/a/b/", "/a/a", []string{"/a/b/x", "/a/b/y"}},
		{"/a/b/", "/a/b/y", []string{}},
		{"/a/b/", "/z", []string{}},
		{"/none/", "", []string{}},
		{"/", "/a/c/x", []string{"/ab/q", "/b/z"}},
	} {
		res := b.list(storage.RangeRequest{Prefix: tt.prefix, After: tt.after})
		if got := keys(res.Entries); !slices.Equal(got, tt.want) || res.Count != int64(len(tt.want)) || res.More ||
			res.Rev != rev {
			t.Errorf("Range(%s after %q): got %v, count %d, more %v, revision %d, want %v at %d",
				tt.prefix, tt.after, got, res.Count, res.More, res.Rev, tt.want, rev)
		}
	}
}

// testRangePages checks that the pages of a range at one revision are complete and without
// duplicates for several limits, and that writes between pages do not change them: the continue
// token of a list holds the revision of its first page. Count is the number of keys from After on,
// not of the page.
func testRangePages(t *testing.T, e Engine) {
	b := open(t, e)
	const n = 25
	for i := range n {
		b.put(fmt.Sprintf("/p/%03d", i), i, storage.Pre{})
	}
	b.put("/pa/x", 1, storage.Pre{})
	for _, limit := range []int{1, 7, 24, 25, 26, 1000} {
		var got []string
		req := storage.RangeRequest{Prefix: "/p/", Limit: limit}
		for page := 0; ; page++ {
			res := b.list(req)
			if want := n - len(got); res.Count != int64(want) {
				t.Fatalf("limit %d, page %d: got Count %d, want %d", limit, page, res.Count, want)
			}
			if want := min(limit, n-len(got)); len(res.Entries) != want {
				t.Fatalf("limit %d, page %d: got %d entries, want %d", limit, page, len(res.Entries), want)
			}
			got = append(got, keys(res.Entries)...)
			if res.More != (len(got) < n) {
				t.Fatalf("limit %d, page %d: got More %v after %d of %d", limit, page, res.More, len(got), n)
			}
			if !res.More {
				break
			}
			req.Rev, req.After = res.Rev, got[len(got)-1]
			if page == 0 { // these writes must not be in later pages
				b.put("/p/999", 1, storage.Pre{})
				b.del("/p/024", storage.Pre{})
			}
		}
		if len(got) != n || !slices.IsSorted(got) || got[n-1] != "/p/024" {
			t.Errorf("limit %d: got %d keys %v", limit, len(got), got)
		}
		if req.Rev != 0 {
			b.del("/p/999", storage.Pre{})
			b.put("/p/024", 24, storage.Pre{Absent: true})
		}
	}
	res := b.list(storage.RangeRequest{Prefix: "/p/", After: "/p/009", CountOnly: true})
	if res.Count != n-10 || len(res.Entries) != 0 {
		t.Errorf("CountOnly: got %d, %d entries, want %d, 0", res.Count, len(res.Entries), n-10)
	}
}

// testRangeAtRevision checks that a range at a past revision returns the state that a range
// returned at that time, with deleted keys, and that a range at a revision in the future fails with
// Future and does not wait.
func testRangeAtRevision(t *testing.T, e Engine) {
	b := open(t, e)
	var states []storage.RangeResult
	// write changes the store and keeps the state that a range shows right afterwards.
	write := func(f func()) {
		f()
		states = append(states, b.list(storage.RangeRequest{Prefix: "/a/"}))
	}
	write(func() { b.put("/a/x", 1, storage.Pre{}) })
	write(func() { b.put("/a/y", 1, storage.Pre{}) })
	write(func() { b.put("/a/x", 2, storage.Pre{}) })
	write(func() { b.del("/a/y", storage.Pre{}) })
	write(func() { b.put("/a/y", 3, storage.Pre{Absent: true}) })
	write(func() { b.put("/b/z", 3, storage.Pre{Absent: true}) })
	write(func() { b.del("/a/x", storage.Pre{}) })
	for _, want := range states {
		got := b.list(storage.RangeRequest{Prefix: "/a/", Rev: want.Rev})
		if got.Rev != want.Rev || showAll(got.Entries) != showAll(want.Entries) || got.Count != want.Count {
			t.Errorf("Range at %d: got %s at %d, want %s", want.Rev, showAll(got.Entries), got.Rev,
				showAll(want.Entries))
		}
	}
	now := b.rev()
	_, err := b.Range(b.ctx, storage.RangeRequest{Prefix: "/a/", Rev: now + 1})
	if rev := wantKind(t, "Range in the future", err, storage.Future); rev != now {
		t.Errorf("Future: got Error.Rev %d, want %d", rev, now)
	}
}

// testCompact checks which reads fail after Compact(r): those at revisions below r, with Compacted.
// A read at r itself works. Compact changes neither entries nor the revision, and a second Compact
// to an older revision does nothing.
func testCompact(t *testing.T, e Engine) {
	b := open(t, e)
	var revs []storage.Revision
	for i := range 10 {
		revs = append(revs, b.put("/a/x", i, storage.Pre{}))
	}
	gone := b.put("/a/gone", 1, storage.Pre{})
	b.del("/a/gone", storage.Pre{})
	now := b.rev()
	if err := b.Compact(b.ctx, revs[5]); err != nil {
		t.Fatalf("Compact: %v", err)
	}
	if err := b.Compact(b.ctx, revs[3]); err != nil {
		t.Errorf("Compact to before the compaction: got %v, want nil", err)
	}
	wantKind(t, "Compact in the future", b.Compact(b.ctx, now+1), storage.Future)
	// Writes 0 to 4 are below the compacted revision, write 5 is at it.
	for i, rev := range revs {
		res, err := b.Range(b.ctx, storage.RangeRequest{Prefix: "/a/", Rev: rev})
		if i < 5 {
			wantKind(t, "Range before the compaction", err, storage.Compacted)
		} else if err != nil || len(res.Entries) != 1 || string(res.Entries[0].Value) != string(value(i)) {
			t.Errorf("Range at %d: got %s, %v", rev, showAll(res.Entries), err)
		}
	}
	// A compaction to the current revision forgets all history and no entry.
	if err := b.Compact(b.ctx, now); err != nil {
		t.Fatalf("Compact to now: %v", err)
	}
	_, err := b.Range(b.ctx, storage.RangeRequest{Prefix: "/a/", Rev: gone})
	wantKind(t, "Range before the compaction", err, storage.Compacted)
	if got := b.list(storage.RangeRequest{Prefix: "/a/"}); len(got.Entries) != 1 || got.Entries[0].Rev != revs[9] {
		t.Errorf("Range after compaction: got %s", showAll(got.Entries))
	}
	if got := b.rev(); got != now {
		t.Errorf("Revision after compaction: got %d, want %d", got, now)
	}
}
