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

// This file shows the stored objects and their changes to the garbage collector (Stream), the
// namespace controller (Removals) and the recount of quotas (Releases). It uses Taps and not
// follow.Changes, because a follower keeps the name of each object of each resource in memory. A
// Tap keeps no name, loads no resource, and shows the changes of all resources in one order, which
// the graph of owners needs.

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

// removals is a feed of namespaces from which objects are deleted. It belongs to one caller.
type removals struct {
	*backing.Taps
	of *Holdings
}

// Next waits for deletions and returns the namespaces of their objects. A namespace may come twice.
// It implements ownership.Removals.
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

// Releases opens a feed of the namespaces in which a write that no quota was charged for may have
// changed the usage of an object. The caller closes it.
func (h *Holdings) Releases(ctx context.Context) (*Releases, error) {
	tap, err := h.needs.Backends.OpenTaps(ctx)
	if err != nil {
		return nil, err
	}
	return &Releases{tap, h}, nil
}

// Releases is a feed of namespaces in which the usage of objects may have changed. It belongs to
// one caller. It implements quotas.Changes.
type Releases struct {
	*backing.Taps
	of *Holdings
}

// Next waits for events that count, and returns the namespaces of their objects. In less an object
// was deleted, a pod ended, or an object was updated whose usage depends on its spec. In changed a
// pod was updated otherwise: the resources in its status or its deadline may have changed, and few
// updates of pods change them. A namespace may come twice.
func (r *Releases) Next(ctx context.Context) (less, changed []string, err error) {
	for len(less)+len(changed) == 0 && err == nil {
		var events []storage.Event
		events, err = r.Taps.Next(ctx)
		for i := range events {
			e := &events[i]
			if e.Created {
				continue
			}
			ref, ok := r.of.ObjectAt(e.Key)
			switch gr := ref.Resource.GroupResource(); {
			case !ok || ref.Namespace == "":
			case e.Deleted || slices.Contains(changing, gr) || gr == pods && ends(e.Value):
				less = append(less, ref.Namespace)
			case gr == pods:
				changed = append(changed, ref.Namespace)
			}
		}
	}
	return less, changed, err
}

// changing are the resources whose objects may use less after an update, pods apart.
var changing = []meta.GroupResource{
	{Resource: "services"}, {Resource: "persistentvolumeclaims"},
	{Group: "resource.k8s.io", Resource: "resourceclaims"},
}

// ends reports whether a pod may have ended. Such a pod has its phase in its bytes, whatever their
// format; ends is true of a pod that has the word elsewhere, too.
func ends(pod []byte) bool {
	return bytes.Contains(pod, []byte("Succeeded")) || bytes.Contains(pod, []byte("Failed"))
}
