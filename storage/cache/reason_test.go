package cache_test

import (
	"testing"

	"github.com/coracle-project/coracle/storage/cache"
)

// countStoreReads fails the test unless the store has answered n reads for a reason, and none for
// another.
func countStoreReads(t *testing.T, r *cache.Resource, why cache.Reason, n uint64) {
	t.Helper()
	for other, got := range r.Stats().StoreReads {
		want := uint64(0)
		if cache.Reason(other) == why {
			want = n
		}
		if got != want {
			t.Errorf("reads that the store answered, %v: got %d, want %d", cache.Reason(other), got, want)
		}
	}
}

// TestStoreReads: the cache itself answers reads of the present, and of past states that the window
// reaches.
func TestStoreReads(t *testing.T) {
	r, store, _ := open(t, cache.Config{})
	key := things + "ns/a"
	forgotten := put(t, store, key, "1", nil)
	put(t, store, key, "2", nil)
	settle(t, r)
	remembered := put(t, store, key, "3", nil)
	put(t, store, key, "4", nil)
	read := func(at cache.Want, want string) {
		t.Helper()
		list, err := r.List(t.Context(), cache.ListOptions{Prefix: things, Want: at})
		if err != nil || len(list.Objects) != 1 || value(list.Objects[0]) != want {
			t.Errorf("List(%+v): got %s, %v, want %s", at, show(list.Objects), err, want)
		}
	}
	read(cache.Want{}, "4")
	read(cache.Want{Match: cache.Any}, "4")
	read(cache.Want{Match: cache.Exact, Rev: remembered}, "3")
	countStoreReads(t, r, cache.Forgotten, 0)
	read(cache.Want{Match: cache.Exact, Rev: forgotten}, "1")
	countStoreReads(t, r, cache.Forgotten, 1)
}
