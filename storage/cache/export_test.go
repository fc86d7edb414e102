package cache

import (
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Trim does at once what the janitor does from time to time.
func (r *Resource) Trim() { r.trim(time.Now()) }

// Store returns the store behind the cache.
func (r *Resource) Store() storage.Store { return r.c.store }

// Twin returns another cache of the same resource.
func (r *Resource) Twin() *Resource { return r.c.Resource(r.cfg) }

// SetStored makes the bytes of the present objects, which bound those of the forms, seem to be n.
func (r *Resource) SetStored(n int64) { r.shelf.stored.Store(n) }

// Announce does the first of the two steps in which a change is published to the watcher's group.
func (w *Watcher) Announce() {
	seq := w.epoch.state.Load().end()
	c := w.group.cell.Load()
	c.upto = seq + 1
	c.from.Store(seq)
}
