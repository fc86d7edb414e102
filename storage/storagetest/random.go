package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// The law "Random": the same random operations on a store and on a plain map give the same answers.
// Few keys and small revisions make collisions of preconditions likely. A failure prints its seed
// and the last ten steps.

// model is the plain map with which a store is compared, and a copy of it at each revision.
type model struct {
	now    map[string]storage.Entry                      // the present entries by key
	states map[storage.Revision]map[string]storage.Entry // the entries at each revision from floor on
	floor  storage.Revision                              // the revision at which the test began
}

// commit keeps a copy of the present entries as the state at rev. The model is slow and obvious:
// what it says is right by inspection.
func (m *model) commit(rev storage.Revision) { m.states[rev] = maps.Clone(m.now) }

// testRandom does the same random operations on a store and on a map and compares all answers. Then
// it applies the events of a watch to the first state and compares every later state. Each run has
// another seed; the environment variable STORAGETEST_SEED repeats a run. Operations come from one
// goroutine, so that the map says what must happen; other laws have concurrent writers.
func testRandom(t *testing.T, e Engine) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("STORAGETEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	b := open(t, e)
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{now: map[string]storage.Entry{}, states: map[storage.Revision]map[string]storage.Entry{}}
	start := b.rev()
	m.floor = start
	m.commit(start)
	last := start
	w := b.watch(storage.WatchRequest{Prefix: "/r/", After: start, Prev: true})
	var log []string
	for i := range 400 {
		desc, err := randomStep(b, r, m, &last, i)
		log = append(log, desc)
		if err != nil {
			t.Fatalf("seed %d, step %d: %v\nlast steps:\n%s", seed, i, err,
				strings.Join(log[max(0, len(log)-10):], "\n"))
		}
	}
	// The events, applied to the first state one by one, must give every later state. So the watch
	// is compared with the writes and, by way of the model, with the ranges at past revisions.
	state := map[string]storage.Entry{}
	for _, ev := range w.until(last) {
		old, had := state[ev.Key]
		if had == ev.Created && !ev.Deleted || (had && (ev.PrevRev != old.Rev ||
			string(ev.Prev) != string(old.Value))) {
			t.Fatalf("seed %d: event %s, before: %s", seed, showEvent(ev), show(old))
		}
		if state[ev.Key] = (storage.Entry{Key: ev.Key, Value: ev.Value, Rev: ev.Rev}); ev.Deleted {
			delete(state, ev.Key)
		}
		if want, ok := m.states[ev.Rev]; ok && showMap(state) != showMap(want) {
			t.Fatalf("seed %d: state at %d by events: got %s, want %s", seed, ev.Rev, showMap(state), showMap(want))
		}
	}
	if showMap(state) != showMap(m.now) {
		t.Fatalf("seed %d: state by events: got %s, want %s", seed, showMap(state), showMap(m.now))
	}
}

// sorted returns the entries of m in key order.
func sorted(m map[string]storage.Entry) []storage.Entry {
	var out []storage.Entry
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// showMap returns a state as text, to be compared and printed.
func showMap(m map[string]storage.Entry) string { return showAll(sorted(m)) }

// randomStep does one operation on the store and the model and compares the answers. i is the
// number of the step and becomes the value of a put; last is the current revision. It returns a
// description for the log, and an error if the answers differ.
func randomStep(b *bench, r *rand.Rand, m *model, last *storage.Revision, i int) (string, error) {
	key := fmt.Sprintf("/r/%c/%d", 'a'+r.IntN(3), r.IntN(5))
	cur, exists := m.now[key]
	pre := storage.Pre{}
	switch r.IntN(5) {
	case 0:
		pre.Absent = true
	case 1: // the revision of the entry, or a wrong one if there is no entry
		pre.Rev = max(1, cur.Rev)
	case 2: // any revision, one that does not exist yet included
		pre.Rev = storage.Revision(1 + r.IntN(int(*last)+2))
	} // else no precondition
	other := fmt.Sprintf("/r/%c/%d", 'a'+r.IntN(3), r.IntN(5)) // may be the key itself
	fence := m.now[other].Rev                                  // 0 if there is none
	switch r.IntN(6) {
	case 0: // the fence holds
		pre.Fence = storage.Fence{Key: other, Rev: fence}
	case 1: // it may hold
		pre.Fence = storage.Fence{Key: other, Rev: storage.Revision(r.IntN(int(*last) + 2))}
	}
	switch op := r.IntN(12); {
	case op < 5:
		got, err := b.Put(b.ctx, key, value(i), pre, 0)
		desc := fmt.Sprintf("put %s %+v -> %d %v", key, pre, got.Rev, err)
		if want := expect(pre, cur, exists, fence); want != 0 || err != nil {
			return desc, same(err, want)
		}
		if got.Rev != *last+1 {
			return desc, fmt.Errorf("got revision %d, want %d", got.Rev, *last+1)
		}
		m.now[key] = got
		*last = got.Rev
		m.commit(got.Rev)
		return desc, nil
	case op < 7:
		pre.Absent = false
		rev, err := b.Delete(b.ctx, key, pre)
		desc := fmt.Sprintf("delete %s %+v -> %d %v", key, pre, rev, err)
		want := expect(pre, cur, exists, fence)
		if want == 0 && !exists {
			want = storage.NotFound
		}
		if want != 0 || err != nil {
			return desc, same(err, want)
		}
		delete(m.now, key)
		*last = rev
		m.commit(rev)
		return desc, nil
	case op < 8:
		got, err := b.Get(b.ctx, key)
		desc := fmt.Sprintf("get %s -> %s %v", key, show(got), err)
		if !exists {
			return desc, same(err, storage.NotFound)
		}
		if err != nil || show(got) != show(cur) {
			return desc, fmt.Errorf("want %s", show(cur))
		}
		return desc, nil
	default:
		return randomRange(b, r, m, *last)
	}
}

// randomRange reads a random range, half of them at a past revision, and compares it with the
// model.
func randomRange(b *bench, r *rand.Rand, m *model, last storage.Revision) (string, error) {
	req := storage.RangeRequest{Prefix: []string{"/r/", "/r/a/", "/r/b/"}[r.IntN(3)], Limit: r.IntN(6),
		NoCount: r.IntN(3) == 0}
	state := m.now
	if r.IntN(2) == 0 {
		req.Rev = last - storage.Revision(r.IntN(int(last-m.floor)+1))
		state = m.states[req.Rev]
	}
	if r.IntN(3) == 0 {
		req.After = fmt.Sprintf("/r/%c/%d", 'a'+r.IntN(3), r.IntN(5))
	}
	got, err := b.Range(b.ctx, req)
	desc := fmt.Sprintf("range %+v -> %s more=%v count=%d %v", req, showAll(got.Entries), got.More, got.Count, err)
	if err != nil {
		return desc, err
	}
	want := slices.DeleteFunc(sorted(state), func(e storage.Entry) bool {
		return !strings.HasPrefix(e.Key, req.Prefix) || e.Key <= req.After
	})
	count := len(want)
	if req.Limit > 0 {
		want = want[:min(req.Limit, count)]
	}
	if showAll(got.Entries) != showAll(want) || !req.NoCount && got.Count != int64(count) ||
		got.More != (len(want) < count) {
		return desc, fmt.Errorf("want %s, count %d", showAll(want), count)
	}
	return desc, nil
}

// expect returns the kind of error that a write with pre must give for the entry cur, or 0 for
// none; fence is the revision of pre.Fence.Key. It is the law of preconditions in six lines: a
// missing key is NotFound and not Conflict, even if its old revision is given, and the fence is
// checked last.
func expect(pre storage.Pre, cur storage.Entry, exists bool, fence storage.Revision) storage.Kind {
	switch {
	case pre.Absent && exists:
		return storage.Exists
	case pre.Rev != 0 && !exists:
		return storage.NotFound
	case pre.Rev != 0 && pre.Rev != cur.Rev:
		return storage.Conflict
	case pre.Fence.Key != "" && pre.Fence.Rev != fence:
		return storage.Fenced
	}
	return 0
}

// same returns nil if err is of the kind want, where 0 means no error.
func same(err error, want storage.Kind) error {
	if want == 0 && err == nil || want != 0 && errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got error %v, want %q", err, want.Error())
}
