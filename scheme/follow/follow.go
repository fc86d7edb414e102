package follow

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Options say how a Source is followed. The zero Options keep names alone, and tell nobody what
// fails.
type Options struct {
	// Old has each change come with what was told of the object before. That keeps the last state
	// of each object, as the Source tells it.
	Old bool
	// Failed is told each error that breaks a stream, if set. It is called by who ranges over the
	// changes.
	Failed func(error)
	// MaxPause is the longest pause between two tries while nothing succeeds, default 30 s. The
	// first pause is 1 s, or MaxPause if that is less.
	MaxPause time.Duration
}

// Pauses by default; see Options.MaxPause.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// Changes yields what becomes of the objects of a Source: all that there are, and from then on
// every change, until ctx ends or the loop is left.
//
// Where a stream ends, the next one goes on from the last revision that was told. If the Source
// does not know any more what happened since, all objects are told of again, and those that have
// gone in between are told of as gone.
//
// An error does not end it: after a pause, which grows while nothing succeeds, it tries again.
// Two streams begin at least the first pause apart. Only ErrEnded ends it.
func Changes[V any](ctx context.Context, source Source[V], o Options) iter.Seq[Batch[V]] {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.MaxPause <= 0 {
		o.MaxPause = maxPause
	}
	return func(yield func(Batch[V]) bool) {
		f := &follower[V]{Options: o, source: source, yield: yield, known: map[Name]bool{}}
		if o.Old {
			f.old = map[Name]V{}
		}
		f.run(ctx)
	}
}

// follower is one loop over Changes.
type follower[V any] struct {
	Options
	source Source[V]
	yield  func(Batch[V]) bool
	left   bool // yield has returned false

	// after is the revision up to which everything is told; "" if the next stream has to begin with
	// all objects.
	after string
	// known are the objects that were told of, and not as gone. false: the stream that tells of all
	// objects has not told of it.
	known map[Name]bool
	old   map[Name]V // with Options.Old: what was told of those last
}

func (f *follower[V]) run(ctx context.Context) {
	first := min(firstPause, f.MaxPause)
	pause := first
	for {
		begun := time.Now()
		err := f.once(ctx)
		if f.left || ctx.Err() != nil || errors.Is(err, ErrEnded) {
			return
		}
		if err != nil {
			f.Failed(err)
		}
		if meta.IsResourceExpired(err) || meta.IsGone(err) {
			f.after = ""
		}
		lasted := time.Since(begun)
		if err == nil || lasted > f.MaxPause {
			pause = first
		}
		if !sleep(ctx, pause-lasted) {
			return
		}
		if err != nil {
			pause = min(2*pause, f.MaxPause)
		}
	}
}

// once tells what one stream tells: nil if it ended in good order.
func (f *follower[V]) once(ctx context.Context) error {
	whole := f.after == ""
	stream, err := f.source.Open(ctx, f.after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if whole {
		for name := range f.known {
			f.known[name] = false
		}
	}
	for {
		b, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.take(b.Changes)
		if whole && b.InStep {
			whole = false
			if b.Changes = f.sweep(b.Changes); f.left {
				return nil
			}
		}
		if b.InStep {
			f.after = b.ResourceVersion
		}
		if f.left = !f.yield(b); f.left {
			return nil
		}
	}
}

// take notes what changes tell, and adds what was told before.
func (f *follower[V]) take(changes []Change[V]) {
	for i := range changes {
		ch := &changes[i]
		if f.Old {
			ch.Old = f.old[ch.Name]
		}
		if ch.Gone {
			delete(f.known, ch.Name)
			delete(f.old, ch.Name)
			continue
		}
		if !f.known[ch.Name] {
			f.known[ch.Name] = true
		}
		if f.Old && ch.Unread == nil {
			f.old[ch.Name] = ch.New
		}
	}
}

// sweep returns the last changes before the follower is in step, those that are given among them:
// what has not been told of by the present stream is gone. Those that are too many for a batch are
// told of.
func (f *follower[V]) sweep(changes []Change[V]) []Change[V] {
	changes = slices.Clip(changes)
	for name, seen := range f.known {
		if seen {
			continue
		}
		if len(changes) == MaxChanges {
			if f.left = !f.yield(Batch[V]{Changes: changes}); f.left {
				return nil
			}
			changes = nil
		}
		changes = append(changes, Change[V]{Name: name, Old: f.old[name], Gone: true})
		delete(f.known, name)
		delete(f.old, name)
	}
	return changes
}

// sleep waits, and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
