package cache

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/storage"
)

// Numbers for debug pages and metrics (Stats, Count), and comparisons of the cache with the store
// (Digest, Verify). Stats and Count load nothing; Digest and Verify load the resource.

// Stats is what a Cache holds at one moment.
type Stats struct {
	Seen      storage.Revision
	Waiting   int // reads that wait for a revision
	Resources []ResourceStats
}

// ResourceStats is what a Resource holds at one moment.
type ResourceStats struct {
	Name, Prefix string
	Loaded       bool
	Objects      int
	Broken       int              // objects that cannot be read; a part of Objects
	Last         storage.Revision // revision of the newest change
	Window       int              // changes in the window
	WindowFloor  storage.Revision // watches after this revision are served from the window
	WindowBytes  int64
	HistoryBytes int64 // bytes of the stretches kept for watchers that resume from before the window
	Snapshots    int   // past states kept for lists
	Forms        int   // forms kept; those of freed objects count until a sweep
	FormBytes    int64
	StoreReads   [reasons]uint64 // reads that the store answered, by Reason
	Watchers     []WatcherStats
}

// WatcherStats is the position of a Watcher at one moment.
type WatcherStats struct {
	Prefix       string // of the watched keys; or the one key
	Field        string // "field=value" by which it is grouped; "" if only Prefix groups it
	Lag          int    // changes of the resource since the first that it has not sent
	Initializing bool   // it has not sent the whole initial state yet
}

// lag returns how many changes lie between the first that the watcher may have to look at and the
// end of the window.
func (w *Watcher) lag(s *state) int {
	pos := w.pos.Load()
	if c := w.cell.Load(); c != nil {
		from := c.from.Load()
		if from == 0 {
			return 0
		}
		pos = max(pos, from)
	}
	return int(s.end() - min(max(pos, s.first), s.end()))
}

// Stats returns what the cache holds, resources in the order of their prefixes.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	resources := slices.Collect(maps.Keys(c.mu.resources))
	c.mu.Unlock()
	st := Stats{Seen: c.seen.now(), Waiting: int(c.seen.waiting.Load())}
	for _, r := range resources {
		st.Resources = append(st.Resources, r.Stats())
	}
	slices.SortFunc(st.Resources, func(a, b ResourceStats) int { return strings.Compare(a.Prefix, b.Prefix) })
	return st
}

// Stats returns what the resource holds. It loads nothing.
func (r *Resource) Stats() ResourceStats {
	st := ResourceStats{Name: r.cfg.Name, Prefix: r.cfg.Prefix}
	for why := range r.storeReads {
		st.StoreReads[why] = r.storeReads[why].Load()
	}
	r.mu.Lock()
	st.Snapshots = len(r.mu.kept)
	r.mu.Unlock()
	st.Forms, st.FormBytes = r.shelf.size()
	e := r.epoch.Load()
	if e == nil {
		return st
	}
	s := e.state.Load()
	st.Loaded, st.Objects, st.Broken, st.Last = true, s.tree.Len(), s.broken, s.last
	st.Window, st.WindowFloor, st.WindowBytes = len(s.events), s.floor, s.bytes
	st.HistoryBytes = e.history.size()
	e.mu.Lock()
	defer e.mu.Unlock()
	for w := range e.mu.watchers {
		ws := WatcherStats{Prefix: w.key.prefix, Initializing: w.initial.Load() != nil}
		if w.key.field != "" {
			ws.Field = w.key.field + "=" + w.key.value
		}
		ws.Lag = w.lag(s)
		st.Watchers = append(st.Watchers, ws)
	}
	return st
}

// Count returns the number of objects, 0 if the resource is not loaded.
func (r *Resource) Count() int {
	if e := r.epoch.Load(); e != nil {
		return e.state.Load().tree.Len()
	}
	return 0
}

// Digest is a checksum over the keys and revisions of a resource at one revision.
type Digest struct {
	Rev     storage.Revision
	Objects int
	Sum     uint64
}

// Digest returns the digest of the present state, read consistently.
func (r *Resource) Digest(ctx context.Context) (Digest, error) {
	s, rev, err := r.at(ctx, Want{})
	if err != nil {
		return Digest{}, err
	}
	h := fnv.New64a()
	s.tree.Scan(func(key string, o *Object) bool {
		fmt.Fprintf(h, "%s %d\n", key, o.Rev)
		return true
	})
	return Digest{Rev: rev, Objects: s.tree.Len(), Sum: h.Sum64()}, nil
}

// Verify compares keys and revisions of all objects with the store at the same revision, and
// returns the first difference. It reads the whole resource from the store.
func (r *Resource) Verify(ctx context.Context) error {
	s, rev, err := r.at(ctx, Want{})
	if err != nil {
		return err
	}
	objects := s.tree.Values()
	req := storage.RangeRequest{Prefix: r.cfg.Prefix, Rev: rev, Limit: loadChunk, NoCount: true}
	for i := 0; ; {
		res, err := r.c.readRange(ctx, req)
		if err != nil {
			return err
		}
		for _, e := range res.Entries {
			if i == len(objects) || objects[i].Key != e.Key || objects[i].Rev != e.Rev {
				have := "nothing"
				if i < len(objects) {
					have = fmt.Sprintf("%q at %d", objects[i].Key, objects[i].Rev)
				}
				return fmt.Errorf("cache: %s at revision %d: the store has %q at %d where the cache has %s",
					r.cfg.Name, rev, e.Key, e.Rev, have)
			}
			i++
		}
		if !res.More || len(res.Entries) == 0 {
			if i < len(objects) {
				return fmt.Errorf("cache: %s at revision %d: the store lacks %q", r.cfg.Name, rev, objects[i].Key)
			}
			return nil
		}
		req.After = res.Entries[len(res.Entries)-1].Key
	}
}
