package cache

import (
	"context"

	"github.com/coracle-project/coracle/storage"
)

// The reading of the store's history for watchers that resume from before the window. source reads
// stretches from a cursor of the store; the reader of history.go owns it. changeMaker turns store
// events into changes. collectPast is the watcher's side, called by Watcher.Next.

// stretch is the changes of a resource between two revisions, read from the store's history. It is
// immutable and shared by all watchers that pass through it.
type stretch struct {
	after, upto storage.Revision // changes has every change with after < revision <= upto
	changes     []*change
	bytes       int64 // that only the stretch holds, estimated
}

// stretchOverhead is the memory of a stretch without its changes, roughly, in bytes.
const stretchOverhead = 256

// source is a cursor over the store's history of a resource. Its position is a revision.
type source struct {
	r      *Resource
	cursor storage.Cursor   // nil if closed
	pos    storage.Revision // every change up to here has been taken
	rest   storage.Batch    // the part of the last batch that has not been taken
}

// seek moves the source to rev. It opens another cursor unless the source is there already.
func (src *source) seek(ctx context.Context, rev storage.Revision) error {
	if src.cursor != nil && src.pos == rev {
		return nil
	}
	src.close()
	cursor, err := src.r.c.store.Watch(ctx, storage.WatchRequest{Prefix: src.r.cfg.Prefix, After: rev, Prev: true})
	if err != nil {
		return err
	}
	src.cursor, src.pos = cursor, rev
	return nil
}

// close closes the cursor if there is one.
func (src *source) close() {
	if cursor := src.release(); cursor != nil {
		cursor.Close()
	}
}

// release forgets the cursor and returns it, for the caller to close once it holds no lock. It
// returns nil if there is none.
func (src *source) release() storage.Cursor {
	cursor := src.cursor
	src.cursor, src.rest = nil, storage.Batch{}
	return cursor
}

// next returns the events that have not been taken, or waits for more.
func (src *source) next(ctx context.Context) (storage.Batch, error) {
	if len(src.rest.Events) > 0 {
		return src.rest, nil
	}
	src.cursor.Progress() // if there is no change from here to the window, only a progress report brings the revision
	return src.cursor.Next(ctx)
}

// read returns the stretch that begins at from. It ends where the window begins, at until (if that
// is not 0), or when it has limit bytes. It is never empty: upto is greater than from.
func (src *source) read(ctx context.Context, e *epoch, from, until storage.Revision, limit int64) (*stretch, error) {
	if err := src.seek(ctx, from); err != nil {
		return nil, err
	}
	st := &stretch{after: from, upto: from}
	maker := changeMaker{r: src.r, last: map[string]*Object{}}
	for st.bytes < limit { // which is at least 1
		maker.state = e.state.Load()
		if st.upto >= maker.state.floor || until != 0 && st.upto >= until {
			src.close() // from here on, watchers read the window or a kept stretch
			break
		}
		batch, err := src.next(ctx)
		if err == nil {
			err = src.take(st, &maker, batch, until, limit)
		}
		if err != nil {
			src.close()
			if st.upto > from && ctx.Err() == nil { // the error will come again with the next stretch
				break
			}
			return nil, err
		}
	}
	st.bytes += stretchOverhead
	return st, nil
}

// take moves the events of a batch into st, up to until or until st has limit bytes, and keeps the
// rest of the batch for the next stretch.
func (src *source) take(
	st *stretch, maker *changeMaker, batch storage.Batch, until storage.Revision, limit int64,
) error {
	src.rest = storage.Batch{}
	for i := range batch.Events {
		ev := &batch.Events[i]
		beyond := until != 0 && ev.Rev > until
		if beyond || st.bytes >= limit && ev.Rev > st.upto { // a stretch never ends within a revision
			if beyond {
				st.upto = until
			}
			src.pos, src.rest = st.upto, storage.Batch{Events: batch.Events[i:], Rev: batch.Rev}
			return nil
		}
		ch, bytes, err := maker.make(ev)
		if err != nil {
			st.cut(ev.Rev)
			return err
		}
		st.changes = append(st.changes, ch)
		st.bytes += bytes
		st.upto = ev.Rev
	}
	if st.upto = max(st.upto, batch.Rev); until != 0 {
		st.upto = min(st.upto, until)
	}
	src.pos = st.upto
	return nil
}

// cut removes the changes at rev, which are the last ones and incomplete.
func (st *stretch) cut(rev storage.Revision) {
	st.changes = st.changes[:firstAfter(st.changes, rev-1)]
	st.upto = min(st.upto, rev-1)
}

// changeMaker turns store events with previous values into changes. It decodes only objects that
// neither the stretch nor the present state has.
type changeMaker struct {
	r     *Resource
	state *state
	last  map[string]*Object // by key: the object after the last change made
}

// make returns the change of an event, and the estimated bytes that only the change holds. It
// returns Compacted if the previous value is missing, because the event cannot be shown without it.
func (m *changeMaker) make(ev *storage.Event) (*change, int64, error) {
	ch := &change{key: ev.Key, rev: ev.Rev}
	bytes := int64(128)
	if !ev.Created {
		if ev.Prev == nil { // the store has compacted the previous value, or cannot read it
			return nil, 0, &storage.Error{Op: "watch", Key: ev.Key, Kind: storage.Compacted}
		}
		ch.prev = m.object(storage.Entry{Key: ev.Key, Value: ev.Prev, Rev: ev.PrevRev}, &bytes)
	}
	if ev.Deleted {
		delete(m.last, ev.Key)
		bytes += int64(len(ch.prev.data)) // the copy that change.gone makes
		return ch, bytes, nil
	}
	ch.obj = m.object(storage.Entry{Key: ev.Key, Value: ev.Value, Rev: ev.Rev, Stale: ev.Stale, Err: ev.Err}, &bytes)
	m.last[ev.Key] = ch.obj
	return ch, bytes, nil
}

// object returns the object of an entry, and adds its size to bytes if it had to be decoded.
func (m *changeMaker) object(e storage.Entry, bytes *int64) *Object {
	if o := m.last[e.Key]; o != nil && o.Rev == e.Rev {
		return o
	}
	if o, ok := m.state.tree.Get(e.Key); ok && o.Rev == e.Rev {
		return o
	}
	o := m.r.decode(e)
	*bytes += o.size()
	return o
}

// collectPast adds the next changes from before the window to buf. Once past has reached the
// window, it moves the watcher there instead.
func (w *Watcher) collectPast(ctx context.Context) error {
	if s := w.epoch.state.Load(); w.past >= s.floor {
		w.pos.Store(s.seqAfter(w.past))
		// The window may still get changes that have been sent, because the stream may be behind
		// the store's history. After leaves them out.
		w.opts.After = w.past
		w.past = 0
		return nil
	}
	st, err := w.epoch.history.after(ctx, w.past)
	if err != nil {
		return err
	}
	changes := st.changes[firstAfter(st.changes, w.past):]
	more := w.opts.Show != nil && len(changes) > maxEvents
	if more {
		changes = changes[:firstAfter(changes, changes[maxEvents-1].rev)] // a call never ends within a revision
	}
	if w.opts.Show != nil {
		if err := w.showChanges(ctx, changes); err != nil {
			return err
		}
	}
	for _, ch := range changes {
		if len(w.buf) >= maxEvents && ch.rev > w.past {
			return nil
		}
		if err := w.add(ch); err != nil {
			return err
		}
		w.past = ch.rev
	}
	if more {
		return nil
	}
	w.past = st.upto
	w.upto = max(w.upto, st.upto)
	return nil
}
