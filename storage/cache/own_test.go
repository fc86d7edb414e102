package cache_test

import (
	"errors"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// TestOwn: a read with OwnWrites sees the write or deletion that this server has just made.
func TestOwn(t *testing.T) {
	r, _, _ := open(t, cache.Config{})
	own := cache.Want{Match: cache.OwnWrites}
	for range 200 {
		o, err := r.Create(t.Context(), things+"a", body(things+"a", "x", nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Get(t.Context(), things+"a", own); err != nil || got.Rev != o.Rev {
			t.Fatalf("after a write: got %v, %v", got, err)
		}
		if _, err := r.Delete(t.Context(), things+"a", cache.DeleteOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Get(t.Context(), things+"a", own); !errors.Is(err, storage.NotFound) {
			t.Fatalf("after a deletion: got %v, %v", got, err)
		}
	}
}
