package holdings

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
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
	return &Namespaces{tap, h, false}, nil
}

// Releases opens a feed of the namespaces in which objects may come to use less of a quota after
// the call: an object is deleted, a pod ends, or an object whose usage depends on its spec is
// updated. The caller closes it.
func (h *Holdings) Releases(ctx context.Context) (*Namespaces, error) {
	tap, err := h.needs.Backends.OpenTaps(ctx)
	if err != nil {
		return nil, err
	}
	return &Namespaces{tap, h, true}, nil
}

// Namespaces is a feed of namespaces in which something has happened. It belongs to one caller.
type Namespaces struct {
	*backing.Taps
	of      *Holdings
	updates bool // updates that may lower the usage of an object count, and not only deletions
}

// changing are the resources whose objects may use less after an update, pods apart.
var changing = []meta.GroupResource{
	{Resource: "services"}, {Resource: "persistentvolumeclaims"},
	{Group: "resource.k8s.io", Resource: "resourceclaims"},
}

// counts reports whether an event counts. A pod that has ended has its phase in its bytes, whatever
// their format; a pod that has the word elsewhere counts, too.
func (r *Namespaces) counts(e *storage.Event, ref *ownership.ObjectRef) bool {
	switch gr := ref.Resource.GroupResource(); {
	case e.Deleted:
		return true
	case gr == pods:
		return bytes.Contains(e.Value, []byte("Succeeded")) || bytes.Contains(e.Value, []byte("Failed"))
	default:
		return slices.Contains(changing, gr)
	}
}

// Next waits for events that count, and returns the namespaces of their objects. A namespace may
// come twice. It implements ownership.Removals.
func (r *Namespaces) Next(ctx context.Context) (namespaces []string, err error) {
	for len(namespaces) == 0 && err == nil {
		var events []storage.Event
		events, err = r.Taps.Next(ctx)
		for i := range events {
			e := &events[i]
			if !e.Deleted && (!r.updates || e.Created) {
				continue
			}
			if ref, ok := r.of.ObjectAt(e.Key); ok && ref.Namespace != "" && r.counts(e, &ref) {
				namespaces = append(namespaces, ref.Namespace)
			}
		}
	}
	return namespaces, err
}
