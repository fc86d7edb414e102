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

// A Resource is one key prefix of the cache. This file loads it from the store, applies the events
// that Cache.run hands over (ingest), and ends its epoch when it has missed changes (end).
// window.go makes the states; get.go, list.go, watch.go and write.go are the operations of callers.

// ResourceConfig describes one resource.
type ResourceConfig struct {
	Name   string // shown by hooks and debug pages
	Prefix string // of the resource's keys; lies under Config.Prefix and ends in "/"
	// Decode reads a value that was loaded from the store, or that another server has written. It
	// does no I/O, because the stream waits for it. It may keep value only as Decoded.Data; Data
	// may also be other bytes that mean the same. Many goroutines call it at once, without locks.
	// SetDecode replaces it.
	Decode DecodeFunc
	// Written reads a value that this process is about to write, under the rules of Decode. Such a
	// value is complete, so Data is always the value itself. nil means Decode.
	Written DecodeFunc
	// GroupBy names selectable fields, like "spec.nodeName". Watchers are grouped by the values of
	// these fields, in addition to prefix and key: a watcher of one value (WatchOptions.Field) is
	// not woken by objects with other values.
	GroupBy []string
	// Since is the revision at which the resource came into being; 0 means it has always been. A
	// watch from before Since is Compacted, because older changes under the prefix may belong to
	// another resource of the same name.
	Since storage.Revision
}

// DecodeFunc reads a stored value; see ResourceConfig.Decode. An error makes the object unreadable
// until it is written again.
type DecodeFunc = func(key string, value []byte) (Decoded, error)

// decoder is the pair of functions by which a resource reads values.
type decoder struct{ stored, written DecodeFunc }

// Resource is the cache of one resource, and the operations on it. All methods may be called at
// once.
//
// An epoch begins with a load and ends when the resource misses changes or is closed. Nothing
// carries over to the next epoch: the end of an epoch ends its watchers.
type Resource struct {
	c   *Cache
	cfg ResourceConfig

	decoder   atomic.Pointer[decoder] // never nil
	redecoded atomic.Bool             // SetDecode has replaced the first decoder; never reset

	epoch   atomic.Pointer[epoch] // nil if not loaded
	loading *flight               // guarded by c.mu
	inbox   []storage.Event       // events of the batch in hand; owned by Cache.run
	writes  writes                // own writes whose events have not come yet
	shelf   *shelf                // counts the forms of all objects

	closed   atomic.Bool   // Close was called; reads and writes fail
	answered atomic.Uint64 // the highest revision that a client has learned of: see answer

	warming    atomic.Bool            // a goroutine of warm is loading the objects
	storeReads [reasons]atomic.Uint64 // reads that the store answered, by Reason

	mu struct {
		sync.Mutex
		phase   phase
		torn    bool             // changes were missed while loading; the load must begin again
		pending []storage.Event  // events that came while loading
		held    int              // bytes of pending, estimated
		base    storage.Revision // of the load: changes up to here are in tree
		tree    *tree            // the next state's; owned by the holder of mu
		kept    []snapshot       // past states for the next pages of lists, oldest first
	}
}

// phase says what a resource does with the events that the stream hands to it.
type phase uint8

const (
	idle    phase = iota // not loaded: events are dropped
	loading              // events are kept in pending
	loaded               // events are applied
	gone                 // Close was called: events are dropped, and the resource never loads again
)

// tree holds the objects of a state by key. A copy shares its nodes with the original, copy on
// write.
type tree = btree.Map[string, *Object]

// treeDegree trades the depth of the tree against the bytes copied for each change
// (BenchmarkIngest).
const treeDegree = 16

// maxPending bounds the events that are kept during a load, or that wait in a Tap for its reader,
// in bytes.
const maxPending = 64 << 20

// epoch is the time from one load to the end of its stream.
type epoch struct {
	state atomic.Pointer[state] // never nil
	end   atomic.Pointer[error] // nil while the epoch lasts; set before the watchers are woken
	// prefix is the index in each key of the "/" that ends the resource's prefix.
	prefix  int
	groupBy []string // ResourceConfig.GroupBy
	history *history // changes from before the window

	mu struct {
		sync.Mutex
		groups    map[groupKey]*group
		byField   int      // how many of groups have a field in their key
		concerned []*group // groups that the batch being published concerns
		watchers  map[*Watcher]struct{}
	}
}

// Resource returns a cache of the resource that cfg describes. It reads nothing until it is used.
func (c *Cache) Resource(cfg ResourceConfig) *Resource {
	r := &Resource{c: c, cfg: cfg, shelf: &shelf{least: c.cfg.FormBytes}}
	r.SetDecode(cfg.Decode, cfg.Written)
	return r
}

// SharesStore reports whether two resources are in one store, so that their revisions compare.
func (r *Resource) SharesStore(other *Resource) bool { return r.c == other.c }

// SetDecode replaces the functions by which the resource reads values (ResourceConfig.Decode and
// Written), for a kind whose schema or storage version changes. Watches go on. Objects that are
// cached or being read stay as the earlier function made them. An object that the earlier function
// could not read is read from the store again when a Get or List meets it. A nil written means
// decode.
func (r *Resource) SetDecode(decode, written DecodeFunc) {
	if written == nil {
		written = decode
	}
	if r.decoder.Swap(&decoder{decode, written}) != nil {
		r.redecoded.Store(true)
	}
}

// mayBeReadable reports whether an object that could not be read may be readable since: there is
// another decoder or another decryption key.
func (r *Resource) mayBeReadable() bool { return r.redecoded.Load() || r.c.unlocked.Load() }

// peek decodes a stored value.
func (r *Resource) peek(key string, value []byte) (Decoded, error) {
	d, err := r.decoder.Load().stored(key, value)
	d.shelf = r.shelf
	return d, err
}

// peekWritten decodes a value that this process is about to write.
func (r *Resource) peekWritten(key string, value []byte) (Decoded, error) {
	d, err := r.decoder.Load().written(key, value)
	d.shelf = r.shelf
	return d, err
}

// Name returns ResourceConfig.Name.
func (r *Resource) Name() string { return r.cfg.Name }

// Prefix returns the prefix of all keys of the resource, which ends in "/".
func (r *Resource) Prefix() string { return r.cfg.Prefix }

// Close ends the watchers and forgets the objects. Later calls fail with Closed, and so does a
// running write, unless it has already been handed to the store. Close a resource that stops being
// served, like a deleted custom resource; Cache.Close closes all others.
func (r *Resource) Close() {
	r.closed.Store(true)
	r.end(closed("watch", r.cfg.Prefix)) // first: nothing joins after that
	r.c.leave(r)
}

// current returns the present state. It loads the resource first if it is not loaded.
func (r *Resource) current(ctx context.Context) (*state, error) {
	e, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	return e.state.Load(), nil
}

// ready returns the present epoch. It starts the stream and loads the resource if necessary, and
// tries again if the epoch ends at once. A load that fails with Compacted is reported as
// Unavailable: Compacted would tell a reader that the revision it asked for is gone.
func (r *Resource) ready(ctx context.Context) (*epoch, error) {
	for {
		if e := r.epoch.Load(); e != nil {
			return e, nil
		}
		err := r.c.start(ctx)
		if err == nil {
			err = r.c.share(ctx, &r.loading, r.load)
		}
		if errors.Is(err, storage.Compacted) {
			err = &storage.Error{Op: "load", Key: r.cfg.Prefix, Kind: storage.Unavailable, Err: err}
		}
		if err != nil {
			return nil, err
		}
	}
}

// load begins an epoch and calls the hooks. It makes up to five tries if the store compacts the
// revision that it reads, or if changes were missed meanwhile.
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
		case try < 5 && errors.Is(err, storage.Compacted): // reading took too long, or changes were missed
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

// tryLoad reads the resource and begins its epoch. It returns the number of objects.
//
//  1. It joins the stream after some revision. From then on events are put aside.
//  2. It reads all entries, chunk by chunk, at one revision that is at least that of step 1.
//  3. begin applies the events after the revision of step 2 and publishes.
//
// So each change is applied exactly once.
func (r *Resource) tryLoad(ctx context.Context) (int, error) {
	after, ok := r.c.join(r)
	if !ok {
		return 0, closed("load", r.cfg.Prefix)
	}
	t := btree.NewMap[string, *Object](treeDegree)
	req := storage.RangeRequest{Prefix: r.cfg.Prefix, Limit: firstChunk, NoCount: true}
	first := &state{}
	for {
		res, err := r.c.readSince(ctx, req, after) // a replica may be behind the watch
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

// begin starts an epoch whose first state holds the loaded objects t, applies the events that were
// put aside during the load, and publishes the epoch. It decodes without the lock, so it repeats
// until no more events have come. It fails with Compacted if events were missed meanwhile.
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
		changes := r.decodeAll(events) // without the lock: more events may come meanwhile
		r.mu.Lock()
		if !r.mu.torn && r.mu.phase == loading { // else the load has failed and end has taken the tree
			r.publishLocked(e, changes)
		}
		r.mu.Unlock()
	}
}

// ingest applies events to the present state, or puts them aside while the resource is loading.
// Only Cache.run calls it, so events are applied in their order although the lock is released for
// decoding.
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

// putAsideLocked keeps events until the load can apply them. Beyond maxPending it drops them all,
// and the load begins again.
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

// end ends the epoch with err, which the watchers get. If err is Closed, the resource is gone;
// otherwise its next use loads it again.
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

// decode makes the object of an entry. If the value cannot be decoded, or the store could not
// decrypt it, the object is a broken one and Hooks.DecodeFailed is called.
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

// decodeAll turns events into changes. Their prev is still empty: publishLocked finds it in the
// tree. An event of an own write takes the object of that write instead of decoding.
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
