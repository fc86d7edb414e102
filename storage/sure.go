package storage

import (
	"bytes"
	"context"
	"strings"
	"time"
)

const (
	sureTries = 4
	sureWait  = 20 * time.Millisecond // before the first reading back, doubling
)

// Sure returns s with an answer for most writes in doubt: Put and Delete read back what has become of an InDoubt
// write, repeat it if it has not been applied, and say so if it has.
//
// Repeating is safe because of the precondition: of a write and its repetition at most one can succeed. Whoever has
// changed the key first after Pre.Rev is found in the history, so an applied write is recognized even if others have
// written since. Two rules fill what the store cannot tell: a change to the very bytes we wrote counts as ours, and a
// create whose key is absent counts as not applied (and not as applied and deleted again by somebody else).
// InDoubt remains for what cannot be decided: an unconditional Put that is not there, a context that has ended, a
// store that stays out of reach.
func Sure(s Store) Store { return sure{s} }

type sure struct{ Store }

// Put implements Store.
func (s sure) Put(ctx context.Context, key string, value []byte, pre Pre, lease LeaseID) (Entry, error) {
	doubt := error(nil)
	for try := 0; ; try++ {
		e, err := s.Store.Put(ctx, key, value, pre, lease)
		switch kind := KindOf(err); {
		case err == nil, doubt == nil && kind != InDoubt:
			return e, err
		case kind == InDoubt:
			doubt = err
		}
		// In doubt, or a repetition that failed because the first attempt, or somebody else, was there before.
		if try == sureTries || !pause(ctx, try) {
			return Entry{}, doubt
		}
		cur, gerr := s.Store.Get(ctx, key)
		absent := KindOf(gerr) == NotFound
		switch {
		case gerr != nil && !absent:
			continue
		case !absent && cur.Rev > pre.Rev && bytes.Equal(cur.Value, value):
			return cur, nil
		case pre.Absent && absent, pre.Rev != 0 && cur.Rev == pre.Rev:
			continue // not applied
		case pre.Rev == 0:
			return Entry{}, doubt
		}
		ev, werr := firstChange(ctx, s.Store, key, pre.Rev)
		switch {
		case werr != nil:
			return Entry{}, doubt
		case !ev.Deleted && bytes.Equal(ev.Value, value):
			return Entry{Key: key, Value: value, Rev: ev.Rev}, nil
		case absent:
			return Entry{}, &Error{Op: "put", Key: key, Kind: NotFound, Rev: ev.Rev}
		default:
			return Entry{}, &Error{Op: "put", Key: key, Kind: Conflict, Rev: cur.Rev}
		}
	}
}

// Delete implements Store. A deletion by somebody else in the time of doubt counts as ours.
func (s sure) Delete(ctx context.Context, key string, pre Pre) (Revision, error) {
	doubt := error(nil)
	for try := 0; ; try++ {
		rev, err := s.Store.Delete(ctx, key, pre)
		switch kind := KindOf(err); {
		case err == nil, doubt == nil && kind != InDoubt:
			return rev, err
		case kind == InDoubt:
			doubt = err
		}
		if try == sureTries || !pause(ctx, try) {
			return 0, doubt
		}
		cur, gerr := s.Store.Get(ctx, key)
		absent := KindOf(gerr) == NotFound
		switch {
		case gerr != nil && !absent:
			continue
		case pre.Rev != 0 && cur.Rev == pre.Rev:
			continue // not applied
		case pre.Rev == 0 && absent:
			rev, err := s.Store.Revision(ctx) // the deletion's, or a later one
			if err != nil {
				return 0, doubt
			}
			return rev, nil
		case pre.Rev == 0:
			return 0, doubt
		}
		ev, werr := firstChange(ctx, s.Store, key, pre.Rev)
		switch {
		case werr != nil:
			return 0, doubt
		case ev.Deleted:
			return ev.Rev, nil
		default:
			return 0, &Error{Op: "delete", Key: key, Kind: Conflict, Rev: cur.Rev}
		}
	}
}

// firstChange finds the first change of key after rev in the history. There must be one.
func firstChange(ctx context.Context, s Store, key string, rev Revision) (Event, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := s.Watch(ctx, WatchRequest{Prefix: key[:strings.LastIndexByte(key, '/')+1], After: rev})
	if err != nil {
		return Event{}, err
	}
	defer c.Close()
	for {
		batch, err := c.Next(ctx)
		if err != nil {
			return Event{}, err
		}
		for _, ev := range batch.Events {
			if ev.Key == key {
				return ev, nil
			}
		}
	}
}

// pause waits, longer with each try. It reports false if ctx ends.
func pause(ctx context.Context, try int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(sureWait << try):
		return true
	}
}
