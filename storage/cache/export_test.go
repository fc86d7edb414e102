package cache

import (
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Trim does the janitor's round now.
func (r *Resource) Trim() { r.trim(time.Now()) }

// Store returns the store behind the cache.
func (r *Resource) Store() storage.Store { return r.c.store }

// Twin returns another cache of the same resource.
func (r *Resource) Twin() *Resource { return r.c.Resource(r.cfg) }

// SetStored makes the bytes of the present objects, which bound those of the forms, seem to be n.
func (r *Resource) SetStored(n int64) { r.shelf.stored.Store(n) }

// Announce does the first half of publishing a change that concerns the watcher.
func (w *Watcher) Announce() {
	seq := w.epoch.state.Load().end()
	c := w.group.cell.Load()
	c.upto = seq + 1
	c.from.Store(seq)
}
