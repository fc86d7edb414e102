package cache

import (
	"context"
	"errors"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// loadChunk is how many entries a list reads at once from the store.
const loadChunk = 1000

// listStore answers a list from the store, in chunks. Objects that the cache has are not decoded again. A cold list is
// answered because the cache is being loaded; others because it cannot answer.
func (r *Resource) listStore(ctx context.Context, opts ListOptions, cold bool) (List, error) {
	req := storage.RangeRequest{Prefix: opts.Prefix, Limit: loadChunk, After: opts.After}
	least := max(opts.Want.least(), r.c.known())
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
	var count, looked int64 // entries from opts.After on; of those, the ones looked at
	var hidden bool         // some are not seen
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
		seen, err := r.seen(ctx, res.Entries, &opts)
		if err != nil {
			return List{}, err
		}
		for i, o := range seen {
			looked++
			if o == nil {
				hidden = true
				continue
			}
			list.Objects = append(list.Objects, o)
			if len(list.Objects) != opts.Limit { // which may be 0 for none
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
			// Begin again: the cache may not have this revision.
			if _, err := r.ready(ctx); err != nil {
				return List{}, err
			}
			return r.List(ctx, opts)
		}
	}
}

// listOne is a list of opts.Only.
func (r *Resource) listOne(ctx context.Context, req storage.RangeRequest, opts ListOptions, least storage.Revision) (List, error) {
	res, err := r.c.readOne(ctx, req, opts.Only, least)
	if err != nil {
		return List{}, err
	}
	list := List{Rev: res.Rev}
	if len(res.Entries) == 0 {
		return list, nil
	}
	if opts.After < opts.Only {
		seen, err := r.seen(ctx, res.Entries[:1], &opts)
		if err != nil {
			return List{}, err
		}
		if seen[0] != nil {
			list.Objects = seen
		}
	}
	return list.readable(&opts)
}

// seen returns the objects of entries as a list shows them; nil of those that it does not.
func (r *Resource) seen(ctx context.Context, entries []storage.Entry, opts *ListOptions) ([]*Object, error) {
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

// readOne is readSince of the entry of key alone, if there is one.
func (c *Cache) readOne(ctx context.Context, req storage.RangeRequest, key string, least storage.Revision) (storage.RangeResult, error) {
	// Begin a little before the key: ranges begin after a key.
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

// stored returns the object of an entry, the cache's if it has it.
func (r *Resource) stored(entry *storage.Entry) *Object {
	o := r.guess(entry.Key)
	if o == nil || o.Rev != entry.Rev {
		o = r.decode(*entry)
	}
	return o
}

// readSince is readRange that shows no state before a revision.
func (c *Cache) readSince(ctx context.Context, req storage.RangeRequest, least storage.Revision) (storage.RangeResult, error) {
	res, err := c.readRange(ctx, req)
	if err == nil && res.Rev < least {
		req.Rev = least
		return c.readRange(ctx, req)
	}
	return res, err
}

// readRange is Store.Range at revisions that are known to exist. A replica may not have reached them: that is waited for.
// Errors: errBehind.
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
