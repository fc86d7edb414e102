package cache

import (
	"context"
	"strings"

	"github.com/coracle-project/coracle/storage"
)

// past reads changes from before the window out of the store's history, for one watcher. It is left as soon as the
// window goes on where it has arrived, so that a restarted server needs no relist of its clients.
type past struct {
	cursor storage.Cursor
}

func (r *Resource) openPast(ctx context.Context, opts *WatchOptions) (*past, error) {
	prefix := opts.Prefix
	if opts.Key != "" {
		prefix = opts.Key[:strings.LastIndexByte(opts.Key, '/')+1]
	}
	cursor, err := r.c.store.Watch(ctx, storage.WatchRequest{Prefix: prefix, After: opts.After, Prev: true})
	if err != nil {
		return nil, err
	}
	return &past{cursor: cursor}, nil
}

// collectPast adds the next changes of the store's history, and joins the window if it can.
func (w *Watcher) collectPast(ctx context.Context, p *past) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.r.c.ctx, cancel)() // Cache.Close ends the wait
	p.cursor.Progress()                          // there may be no change between here and the window
	batch, err := p.cursor.Next(ctx)
	if w.r.c.ctx.Err() != nil {
		return closed("watch", w.key.prefix)
	}
	if err != nil {
		return err
	}
	s := w.epoch.state.Load()
	for i := range batch.Events {
		ch, err := w.r.pastChange(s, &batch.Events[i])
		if err == nil {
			err = w.add(ch)
		}
		if err != nil {
			return err
		}
	}
	w.upto = max(w.upto, batch.Rev)
	if batch.Rev >= s.floor {
		w.pos.Store(s.seqAfter(batch.Rev))
		w.opts.After = batch.Rev // the window may have to come here yet, with changes that have just been sent
		if w.past.CompareAndSwap(p, nil) {
			p.cursor.Close()
		}
	}
	return nil
}

// pastChange makes a change of a store event that brings its previous value. Objects that the cache has are used.
func (r *Resource) pastChange(s *state, ev *storage.Event) (*change, error) {
	object := func(e storage.Entry) *Object {
		if o, ok := s.tree.Get(e.Key); ok && o.Rev == e.Rev {
			return o
		}
		return r.decode(e)
	}
	ch := &change{key: ev.Key, rev: ev.Rev}
	if !ev.Deleted {
		ch.obj = object(storage.Entry{Key: ev.Key, Value: ev.Value, Rev: ev.Rev, Stale: ev.Stale, Err: ev.Err})
	}
	if !ev.Created {
		if ev.Prev == nil { // the store has compacted it, or cannot read it
			return nil, &storage.Error{Op: "watch", Key: ev.Key, Kind: storage.Compacted}
		}
		ch.prev = object(storage.Entry{Key: ev.Key, Value: ev.Prev, Rev: ev.PrevRev})
	}
	return ch, nil
}
