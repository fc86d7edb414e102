package holdings_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/holdings"
	"github.com/coracle-project/coracle/server/servertest/looptest"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
)

// gatedStore is a store whose watches yield no events while the gate is locked.
type gatedStore struct {
	*quaytest.DelayedStore
	gate *sync.RWMutex
}

func (s gatedStore) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := s.DelayedStore.Watch(ctx, req)
	return gatedCursor{c, s.gate}, err
}

type gatedCursor struct {
	storage.Cursor
	gate *sync.RWMutex
}

func (c gatedCursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	c.gate.RLock()
	defer c.gate.RUnlock()
	return batch, err
}

// TestHoldsAsksTheStore: Holds sees what another server of the store has created and deleted, while
// this server has not heard of it. If Holds believed the cache, the namespace controller would let
// a namespace go that still has an object, or would wait for an object that is gone.
func TestHoldsAsksTheStore(t *testing.T) {
	shared, gate := quaytest.NewStore(t), &sync.RWMutex{}
	start := func(store storage.Store) *looptest.World {
		return looptest.Start(t, server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}})
	}
	near, late := start(shared), start(gatedStore{shared, gate})
	near.CreateNamespace()
	h := holdings.New(holdings.Needs{Table: late.S.Table(), Backends: late.S.Backends()})
	cached := func() int {
		list, err := looptest.Of[*corev1.ConfigMap](late, "configmaps").List(t.Context(), meta.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	// behind closes the gate, lets the server near write, and compares. The cache still has before.
	behind := func(what string, before int, write func(), want bool) {
		gate.Lock()
		defer gate.Unlock()
		write()
		if n := cached(); n != before {
			t.Fatalf("%s: the cache has %d objects, want the %d of before", what, n, before)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		got, err := h.Holds(ctx, meta.GroupResource{Resource: "configmaps"}, "n")
		if err != nil || got != want {
			t.Errorf("%s: got %t, %v, want %t", what, got, err, want)
		}
	}
	if n := cached(); n != 0 {
		t.Fatalf("%d objects before the first", n)
	}
	watch, err := looptest.Of[*corev1.ConfigMap](late, "configmaps").Watch(t.Context(), meta.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	maps := looptest.Of[*corev1.ConfigMap](near, "configmaps")
	m := &corev1.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "m"}}
	behind("created elsewhere", 0, func() { looptest.Make(near, maps, m, nil) }, true)
	if e, err := watch.Next(); err != nil || e.Object.Name != "m" {
		t.Fatalf("the event has not come: %v, %v", e, err)
	}
	behind("deleted elsewhere", 1, func() { looptest.Delete(near, maps, "m") }, false)
}
