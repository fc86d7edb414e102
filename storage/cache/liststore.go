package cache

import (
	"context"
	"errors"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Reads that the store answers: lists while a resource is being loaded, lists of revisions that the
// cache has forgotten, and all reads while the cache is behind the store. readSince and readRange
// also serve loads, Taps and writes that look again.

// loadChunk is the number of entries that one Range of a list reads from the store.
const loadChunk = 1000

// listStore answers a list from the store. If the objects are not loaded when it begins, it notes
// what the list shows: see answer.
func (r *Resource) listStore(ctx context.Context, opts ListOptions, cold bool) (List, error) {
	loading := r.epoch.Load() == nil
	list, err := r.readList(ctx, opts, cold)
	if loading {
		r.answer(list.Rev)
	}
	return list, err
}

// readList reads a list from the store, in chunks of one revision. It decodes only entries whose
// objects the cache does not have. cold says that the resource is being loaded; then a page with a
// filter that matches little stops looking after maxColdMatch entries and waits for the load.
// Otherwise the cache cannot answer, and the store answers however long it takes. The list is never
// older than what a watch or the answer to a write has shown (newestShown), except at an exact
// revision.
func (r *Resource) readList(ctx context.Context, opts ListOptions, cold bool) (List, error) {
	req := storage.RangeRequest{Prefix: opts.Prefix, Limit: loadChunk, After: opts.After}
	least := max(opts.Want.least(), r.c.newestShown())
	if opts.Want.Match == Exact {
		req.Rev, least = opts.Want.Rev, opts.Want.Rev
	}
	switch {
	case opts.Only != "":
		return r.listOne(ctx, req, opts, least)
	case opts.Limit > 0 && opts.Match == nil:
		req.Limit = min(opts.Limit, loadChunk)
	}
	var list List
	var count, looked int64 // entries from opts.After on, and how many of them have been looked at
	var hidden bool         // Match or Show left some entries out
	for {
		req.NoCount = looked > 0 || opts.Limit <= 0 || opts.Match != nil
		res, err := r.c.readSince(ctx, req, least)
		if err != nil {
			return List{}, err
		}
		list.Rev, req.Rev = res.Rev, res.Rev
		if looked == 0 {
			count = res.Count
		}
		shown, err := r.showEntries(ctx, res.Entries, &opts)
		if err != nil {
			return List{}, err
		}
		for i, o := range shown {
			looked++
			if o == nil {
				hidden = true
				continue
			}
			list.Objects = append(list.Objects, o)
			if len(list.Objects) != opts.Limit { // never equal if the limit is 0
				continue
			}
			if list.More = res.More || i+1 < len(res.Entries); list.More {
				if list.Remaining = count - looked; opts.Match != nil || hidden {
					list.Remaining = -1
				}
			}
			return list.readable(&opts)
		}
		if !res.More || len(res.Entries) == 0 {
			return list.readable(&opts)
		}
		req.After = res.Entries[len(res.Entries)-1].Key
		if hidden {
			req.Limit = loadChunk
		}
		if cold && (opts.Match != nil || hidden) && looked >= maxColdMatch {
			// The list begins again, because the cache may not hold the revision that it had.
			if _, err := r.ready(ctx); err != nil {
				return List{}, err
			}
			return r.List(ctx, opts)
		}
	}
}

// listOne answers a list of opts.Only from the store.
func (r *Resource) listOne(
	ctx context.Context, req storage.RangeRequest, opts ListOptions, least storage.Revision,
) (List, error) {
	res, err := r.c.readOne(ctx, req, opts.Only, least)
	if err != nil {
		return List{}, err
	}
	list := List{Rev: res.Rev}
	if len(res.Entries) == 0 {
		return list, nil
	}
	if opts.After < opts.Only {
		shown, err := r.showEntries(ctx, res.Entries[:1], &opts)
		if err != nil {
			return List{}, err
		}
		if shown[0] != nil {
			list.Objects = shown
		}
	}
	return list.readable(&opts)
}

// showEntries returns the objects of entries as a list shows them. An object that the list leaves
// out is nil in the result.
func (r *Resource) showEntries(ctx context.Context, entries []storage.Entry, opts *ListOptions) ([]*Object, error) {
	objects := make([]*Object, len(entries))
	for i := range entries {
		if o := r.stored(&entries[i]); opts.Match == nil || o.broken || opts.Match(o) {
			objects[i] = o
		}
	}
	if opts.Show == nil {
		return objects, nil
	}
	return opts.Show(ctx, objects)
}

// readOne is readSince of the entry of key alone. The result has at most that entry.
func (c *Cache) readOne(
	ctx context.Context, req storage.RangeRequest, key string, least storage.Revision,
) (storage.RangeResult, error) {
	// A range begins after a key, so this one begins after a key that sorts just before the wanted
	// key.
	n := len(key) - 1
	req.After = key[:n] + string([]byte{key[n] - 1, 0xff})
	req.Limit, req.NoCount = 1, true
	for {
		res, err := c.readSince(ctx, req, least)
		if err != nil || len(res.Entries) == 0 || res.Entries[0].Key == key {
			return res, err
		}
		if res.Entries[0].Key > key {
			res.Entries = nil
			return res, nil
		}
		req.After, req.Rev = res.Entries[0].Key, res.Rev
	}
}

// stored returns the object of an entry: the cache's object if it has the same revision, else a
// decoded one.
func (r *Resource) stored(entry *storage.Entry) *Object {
	o := r.guess(entry.Key)
	if o == nil || o.Rev != entry.Rev {
		o = r.decode(*entry)
	}
	return o
}

// readSince is readRange that never returns a state before revision least: if the store answers
// with an older one, it reads again at least.
func (c *Cache) readSince(
	ctx context.Context, req storage.RangeRequest, least storage.Revision,
) (storage.RangeResult, error) {
	res, err := c.readRange(ctx, req)
	if err == nil && res.Rev < least {
		req.Rev = least
		return c.readRange(ctx, req)
	}
	return res, err
}

// readRange is Store.Range at a revision that is known to exist. A replica of the store may not
// have reached the revision: readRange tries again until MaxWait has passed, and then returns
// errBehind.
func (c *Cache) readRange(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	deadline := time.Now().Add(c.cfg.MaxWait)
	for wait := 50 * time.Microsecond; ; wait *= 2 {
		res, err := c.store.Range(ctx, req)
		if !errors.Is(err, storage.Future) {
			return res, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return res, errBehind
		}
		if err := storage.Sleep(ctx, min(wait, left)); err != nil {
			return res, err
		}
	}
}
