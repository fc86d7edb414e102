package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"

	"github.com/coracle-project/coracle/storage"
)

// ResourceConfig describes one resource.
type ResourceConfig struct {
	Name   string // for hooks and debug pages
	Prefix string // of its keys, under Config.Prefix; ends in "/"
	// Decode reads what the cache needs of a value that was loaded, or that somebody else has written.
	// It does no I/O: it is called while the stream waits. It may keep value only as Decoded.Data,
	// which may also be other bytes that mean the same today. It is called by many goroutines at once,
	// without locks. SetDecode replaces it.
	Decode DecodeFunc
	// Written does the same for a value that this process writes, which is known to be complete: Data
	// is that value. nil: Decode.
	Written DecodeFunc
	// GroupBy names selectable fields, like "spec.nodeName", by which watchers are grouped beside prefix and key: one that
	// watches for a single value (WatchOptions.Field) is not woken for objects with others.
	GroupBy []string
	// Since is when the resource began to be; 0 means always. What lies before is not in its history, whoever's it was.
	Since storage.Revision
}

// DecodeFunc reads a stored value; see ResourceConfig.Decode. An error makes the object unreadable until it is written
// again.
type DecodeFunc = func(key string, value []byte) (Decoded, error)

// decoder is how a resource reads values at a time.
type decoder struct{ stored, written DecodeFunc }

// Resource is the cache of one resource, and the operations on it. All methods may be called at once.
//
// An epoch begins with a load and ends when the resource misses changes or is closed. Nothing carries over to the
// next epoch: watchers are ended with it.
type Resource struct {
	c   *Cache
	cfg ResourceConfig

	decoder   atomic.Pointer[decoder] // never nil
	redecoded atomic.Bool             // there has been another decoder

	epoch   atomic.Pointer[epoch] // nil if not loaded
	loading *flight               // guarded by c.mu
	inbox   []storage.Event       // owned by Cache.run
	writes  writes
	shelf   *shelf

	closed   atomic.Bool   // Close was called: nothing is read or written any more
	answered atomic.Uint64 // the highest revision of an object that a write or deletion here was answered with

	warming    atomic.Bool // a goroutine has the objects loaded
	storeReads [reasons]atomic.Uint64

	mu struct {
		sync.Mutex
		phase   phase
		torn    bool            // changes were missed while loading: begin again
		pending []storage.Event // what came while loading
		held    int             // bytes of pending
		base    storage.Revision
		tree    *tree // the next state's; owned by the holder of mu
		kept    []snapshot
	}
}

type phase uint8

const (
	idle    phase = iota // events are not wanted
	loading              // events are put aside
	loaded               // events are applied
	gone                 // Close was called
)

// tree holds the objects by key.
type tree = btree.Map[string, *Object]

// treeDegree trades the depth of the tree against the bytes copied for each change (BenchmarkIngest).
const treeDegree = 16

// maxPending bounds what arrives during a load and is put aside, in bytes.
const maxPending = 64 << 20

// epoch is the time from one load to the end of its stream.
type epoch struct {
	state atomic.Pointer[state] // never nil
	end   atomic.Pointer[error] // nil while it lasts; set before the watchers are woken
	// prefix is where the "/" that ends the resource's prefix stands.
	prefix  int
	groupBy []string
	history *history

	mu struct {
		sync.Mutex
		groups    map[groupKey]*group
		byField   int      // how many of groups have a field
		concerned []*group // by the batch being published
		watchers  map[*Watcher]struct{}
	}
}

// Resource returns the cache of a resource. It reads nothing until it is used.
func (c *Cache) Resource(cfg ResourceConfig) *Resource {
	r := &Resource{c: c, cfg: cfg, shelf: &shelf{least: c.cfg.FormBytes}}
	r.SetDecode(cfg.Decode, cfg.Written)
	return r
}

// SetDecode makes the resource read values by other functions (ResourceConfig.Decode and Written)
// from now on, for a kind whose schema or storage version changes. Watches go on. Objects that are
// cached, or being read, stay as the earlier function made them; those that it could not read are
// read from the store again when a Get or List comes upon them.
func (r *Resource) SetDecode(decode, written DecodeFunc) {
	if written == nil {
		written = decode
	}
	if r.decoder.Swap(&decoder{decode, written}) != nil {
		r.redecoded.Store(true)
	}
}

// mayReadAgain reports whether an object that could not be read may be readable by now.
func (r *Resource) mayReadAgain() bool { return r.redecoded.Load() || r.c.unlocked.Load() }

// peek reads a stored value.
func (r *Resource) peek(key string, value []byte) (Decoded, error) {
	d, err := r.decoder.Load().stored(key, value)
	d.shelf = r.shelf
	return d, err
}

// peekWritten reads a value that this process writes.
func (r *Resource) peekWritten(key string, value []byte) (Decoded, error) {
	d, err := r.decoder.Load().written(key, value)
	d.shelf = r.shelf
	return d, err
}

// Name returns the configured name.
func (r *Resource) Name() string { return r.cfg.Name }

// Prefix returns the prefix of all keys.
func (r *Resource) Prefix() string { return r.cfg.Prefix }

// Close ends the watchers and forgets the objects. Later calls fail with Closed, and so does what a write under way has
// not yet handed to the store. Close the resources that stop being
// served (a deleted custom resource); Cache.Close does it for all others.
func (r *Resource) Close() {
	r.closed.Store(true)
	r.end(closed("watch", r.cfg.Prefix)) // first: nothing joins after that
	r.c.leave(r)
}

// current returns the present state, and loads the resource if need be.
func (r *Resource) current(ctx context.Context) (*state, error) {
	e, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	return e.state.Load(), nil
}

func (r *Resource) ready(ctx context.Context) (*epoch, error) {
	for {
		if e := r.epoch.Load(); e != nil {
			return e, nil
		}
		err := r.c.start(ctx)
		if err == nil {
			err = r.c.share(ctx, &r.loading, r.load)
		}
		if errors.Is(err, storage.Compacted) { // again and again; not what a reader means by it
			err = &storage.Error{Op: "load", Key: r.cfg.Prefix, Kind: storage.Unavailable, Err: err}
		}
		if err != nil {
			return nil, err
		}
	}
}

// load begins an epoch. It joins the stream, reads the resource at a revision that is at least the one it joined
// after, and applies what came in between: each change exactly once.
func (r *Resource) load(ctx context.Context) error {
	if r.epoch.Load() != nil {
		return nil
	}
	begin := time.Now()
	for try := 1; ; try++ {
		n, err := r.tryLoad(ctx)
		switch {
		case err == nil:
			if f := r.c.cfg.Hooks.Loaded; f != nil {
				f(r.cfg.Name, n, time.Since(begin))
			}
			return nil
		case try < 5 && errors.Is(err, storage.Compacted): // the chunks took too long, or the stream was torn
			continue
		}
		r.mu.Lock()
		if r.mu.phase == loading {
			r.mu.phase = idle
		}
		r.mu.pending = nil
		r.mu.Unlock()
		if f := r.c.cfg.Hooks.LoadFailed; f != nil {
			f(r.cfg.Name, err)
		}
		return err
	}
}

func (r *Resource) tryLoad(ctx context.Context) (int, error) {
	after, ok := r.c.join(r)
	if !ok {
		return 0, closed("load", r.cfg.Prefix)
	}
	t := btree.NewMap[string, *Object](treeDegree)
	req := storage.RangeRequest{Prefix: r.cfg.Prefix, Limit: firstChunk, NoCount: true}
	first := &state{}
	for {
		res, err := r.c.readSince(ctx, req, after) // a replica may lag behind the watch
		if err != nil {
			return 0, err
		}
		for i := range res.Entries {
			o := r.decode(res.Entries[i])
			t.Load(o.Key, o)
			first.count(nil, o)
		}
		req.Rev = res.Rev
		if !res.More || len(res.Entries) == 0 {
			first.last, first.floor = res.Rev, res.Rev
			return t.Len(), r.begin(t, first)
		}
		req.After = res.Entries[len(res.Entries)-1].Key
		req.Limit = nextChunk(req.Limit, res.Entries)
	}
}

// begin publishes the first state of an epoch, which is t as loaded, and what came since.
func (r *Resource) begin(t *tree, first *state) error {
	e := &epoch{prefix: len(r.cfg.Prefix) - 1, groupBy: r.cfg.GroupBy}
	e.mu.groups = map[groupKey]*group{}
	e.mu.watchers = map[*Watcher]struct{}{}
	e.history = newHistory(r, e)
	first.epoch, first.tree, first.first = e, t.IsoCopy(), 1
	e.state.Store(first)
	for {
		r.mu.Lock()
		if r.mu.phase != loading || r.mu.torn {
			defer r.mu.Unlock()
			if r.mu.phase == gone {
				return closed("load", r.cfg.Prefix)
			}
			return &storage.Error{Op: "load", Key: r.cfg.Prefix, Kind: storage.Compacted}
		}
		events := r.mu.pending
		r.mu.base, r.mu.tree, r.mu.pending, r.mu.held = first.last, t, nil, 0
		if len(events) == 0 {
			r.mu.phase = loaded
			r.epoch.Store(e)
			r.shelf.stored.Store(e.state.Load().stored)
			r.mu.Unlock()
			return nil
		}
		r.mu.Unlock()
		changes := r.decodeAll(events) // without the lock; more may come meanwhile
		r.mu.Lock()
		if !r.mu.torn && r.mu.phase == loading { // else the tree has been taken away
			r.publishLocked(e, changes)
		}
		r.mu.Unlock()
	}
}

// ingest applies events, or puts them aside while the resource is loading. It is called by Cache.run only.
func (r *Resource) ingest(events []storage.Event) {
	r.mu.Lock()
	if r.mu.phase != loaded {
		r.putAsideLocked(events)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	changes := r.decodeAll(events)
	r.mu.Lock()
	var wake []*cell
	if r.mu.phase == loaded {
		wake = r.publishLocked(r.epoch.Load(), changes)
	}
	r.mu.Unlock()
	for _, c := range wake {
		close(c.woken)
	}
}

// putAsideLocked keeps events for the end of a load. If they are too many the load begins again.
func (r *Resource) putAsideLocked(events []storage.Event) {
	if r.mu.phase != loading || r.mu.torn {
		return
	}
	for i := range events {
		r.mu.held += 128 + len(events[i].Key) + len(events[i].Value)
	}
	if r.mu.torn = r.mu.held > maxPending; r.mu.torn {
		r.mu.pending = nil
		return
	}
	r.mu.pending = append(r.mu.pending, events...)
}

// end ends the epoch: watchers get err, and the next use loads the resource again unless err is Closed.
func (r *Resource) end(err error) {
	r.mu.Lock()
	if errors.Is(err, storage.Closed) {
		r.mu.phase = gone
	}
	switch r.mu.phase {
	case loading:
		r.mu.torn, r.mu.pending = true, nil
	case loaded:
		r.mu.phase = idle
	}
	e := r.epoch.Swap(nil)
	r.mu.tree = nil
	for i := range r.mu.kept {
		r.mu.kept[i].close(r.mu.kept[i].rev + 1)
	}
	r.shelf.stored.Store(0)
	r.mu.Unlock()
	r.writes.forget()
	if e == nil {
		return
	}
	e.end.Store(&err)
	e.wakeAll()
	e.history.close()
}

// decode makes the object of an entry. A value that cannot be decoded, or that the store could not read, gives a broken
// object.
func (r *Resource) decode(e storage.Entry) *Object {
	var d Decoded
	err := e.Err
	if err == nil {
		d, err = r.peek(e.Key, e.Value)
	}
	if err != nil {
		o := brokenObject(e, err)
		if f := r.c.cfg.Hooks.DecodeFailed; f != nil {
			f(r.cfg.Name, o.corrupt("decode"))
		}
		return o
	}
	d.Stale = d.Stale || e.Stale
	return newObject(e.Key, e.Rev, &d)
}

// decodeAll turns events into changes that know their new state, not yet the previous one.
func (r *Resource) decodeAll(events []storage.Event) []*change {
	changes := make([]*change, len(events))
	for i := range events {
		ev := &events[i]
		ch := &change{rev: ev.Rev, key: ev.Key}
		changes[i] = ch
		if ev.Deleted {
			continue
		}
		if ch.obj = r.writes.take(ev.Key, ev.Value, ev.Rev); ch.obj == nil {
			ch.obj = r.decode(storage.Entry{Key: ev.Key, Value: ev.Value, Rev: ev.Rev, Stale: ev.Stale, Err: ev.Err})
		}
	}
	return changes
}
