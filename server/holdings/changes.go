package holdings

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/loops/ownership"
	"github.com/coracle-project/coracle/storage"
)

// This file shows the stored objects and their changes to the garbage collector (Stream) and the
// namespace controller (Removals). It uses Taps and not follow.Changes, because a follower keeps
// the name of each object of each resource in memory. A Tap keeps no name, loads no resource, and
// shows the changes of all resources in one order, which the graph of owners needs.

// Stream yields all stored objects of the server, then one Change that is Synced, and then each
// later change. It leaves out objects that cannot be decrypted. It begins when the server is ready,
// and yields nothing if ctx ends before that. It ends with an error when a tap fails. It is an
// ownership.Stream.
func (h *Holdings) Stream(ctx context.Context) iter.Seq2[ownership.Change, error] {
	return func(yield func(ownership.Change, error) bool) {
		select {
		case <-h.needs.Ready:
		case <-ctx.Done():
			return
		}
		tap, err := h.needs.Backends.OpenTaps(ctx)
		if err != nil {
			yield(ownership.Change{}, err)
			return
		}
		defer tap.Close()
		for entry, err := range tap.Entries(ctx) {
			if entry.Err != nil {
				continue
			}
			change := ownership.Change{Key: entry.Key, Value: entry.Value, Rev: uint64(entry.Rev)}
			if !yield(change, err) || err != nil {
				return
			}
		}
		if !yield(ownership.Change{Synced: true}, nil) {
			return
		}
		for {
			events, err := tap.Next(ctx)
			if err != nil {
				yield(ownership.Change{}, err)
				return
			}
			for i := range events {
				ev := &events[i]
				if ev.Err == nil && !yield(ownership.Change{Key: ev.Key, Value: ev.Value, Rev: uint64(ev.Rev)}, nil) {
					return
				}
			}
		}
	}
}

// Removals opens a feed of the namespaces from which objects are deleted after the call. The caller
// closes it.
func (h *Holdings) Removals(ctx context.Context) (ownership.Removals, error) {
	tap, err := h.needs.Backends.OpenTaps(ctx)
	if err != nil {
		return nil, err
	}
	return &removals{tap, h}, nil
}

// removals implements ownership.Removals by taps. It belongs to one caller.
type removals struct {
	*backing.Taps
	of *Holdings
}

// Next waits for deletions, and returns the namespaces of the deleted objects. A namespace may come
// twice. It implements ownership.Removals.
func (r *removals) Next(ctx context.Context) (namespaces []string, err error) {
	for len(namespaces) == 0 && err == nil {
		var events []storage.Event
		events, err = r.Taps.Next(ctx)
		for i := range events {
			if !events[i].Deleted {
				continue
			}
			if ref, ok := r.of.ObjectAt(events[i].Key); ok && ref.Namespace != "" {
				namespaces = append(namespaces, ref.Namespace)
			}
		}
	}
	return namespaces, err
}
