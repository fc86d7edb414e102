package quaytest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// DelayedStore is a store that several servers share. Close does nothing, so that a server that
// ends does not close the store for the others. Each batch of a watch comes with a delay.
type DelayedStore struct {
	storage.Store
	Late  time.Duration // the delay of each batch
	Asked atomic.Int64  // the number of calls of Revision
}

// Close implements storage.Store: it does nothing.
func (d *DelayedStore) Close() error { return nil }

// Revision implements storage.Store.
func (d *DelayedStore) Revision(ctx context.Context) (storage.Revision, error) {
	d.Asked.Add(1)
	return d.Store.Revision(ctx)
}

// Watch implements storage.Store.
func (d *DelayedStore) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := d.Store.Watch(ctx, req)
	return &cursor{c, d.Late}, err
}

type cursor struct {
	storage.Cursor
	late time.Duration
}

// Next implements storage.Cursor.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	time.Sleep(c.late)
	return batch, err
}

// NewStore returns a store in memory for several servers. It is closed at the end of the test.
func NewStore(t testing.TB) *DelayedStore {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	return &DelayedStore{Store: store}
}

// Two starts two servers on one store. The server far gets the events of its watches with the delay
// late, and near without delay. there is the DelayedStore of far.
func Two(t testing.TB, late time.Duration) (near, far *Quay, there *DelayedStore) {
	store := NewStore(t)
	there = &DelayedStore{Store: store.Store, Late: late}
	near = New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	far = New(t, server.Config{Storage: server.StorageConfig{Store: there}})
	return near, far, there
}
