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

// Options say how a Source is followed. With the zero Options, Changes keeps only the names of
// objects, and drops errors.
type Options struct {
	// Old sets Change.Old. For that, Changes keeps the last state of each object in memory.
	Old bool
	// Failed, if set, is called with each error that breaks a stream, in the goroutine that ranges
	// over Changes.
	Failed func(error)
	// MaxPause is the longest pause between two attempts while all of them fail, 30 s by default.
	// The first pause is 1 s, or MaxPause if that is less.
	MaxPause time.Duration
}

// The default pauses; see Options.MaxPause.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// Changes yields all objects of a Source, and from then on each change, until ctx ends or the loop
// is left.
//
// When a stream ends, the next one begins at the revision of the last batch that was in step. If
// the Source no longer has the changes since that revision, all objects are yielded again, and
// those that were deleted in between are yielded as Gone.
//
// After an error Changes tries again, with a pause that doubles while all attempts fail. At least
// the first pause lies between the beginnings of two streams. Of the errors, only ErrEnded ends
// Changes.
func Changes[V any](ctx context.Context, source Source[V], o Options) iter.Seq[Batch[V]] {
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.MaxPause <= 0 {
		o.MaxPause = maxPause
	}
	return func(yield func(Batch[V]) bool) {
		f := &follower[V]{Options: o, source: source, yield: yield, yielded: map[Name]bool{}}
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

	// after is the revision up to which all changes were yielded; "" if the next stream has to
	// begin with all objects.
	after string
	// yielded has the objects that were yielded and are not Gone. The value is false while a stream
	// yields all objects and has not yielded this one yet.
	yielded map[Name]bool
	old     map[Name]V // with Options.Old: the last states of these objects
}

// run opens one stream after the other, until ctx or the loop of the caller ends.
func (f *follower[V]) run(ctx context.Context) {
	first := min(firstPause, f.MaxPause)
	pause := first
	for {
		begun := time.Now()
		err := f.followStream(ctx)
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

// followStream yields the changes of one stream. It returns the error that broke the stream, nil if
// the stream ended in good order or the caller left the loop.
func (f *follower[V]) followStream(ctx context.Context) error {
	whole := f.after == ""
	stream, err := f.source.Open(ctx, f.after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if whole {
		for name := range f.yielded {
			f.yielded[name] = false
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
		f.note(b.Changes)
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

// note updates yielded and old after changes, and sets Change.Old in them.
func (f *follower[V]) note(changes []Change[V]) {
	for i := range changes {
		ch := &changes[i]
		if f.Old {
			ch.Old = f.old[ch.Name]
		}
		if ch.Gone {
			delete(f.yielded, ch.Name)
			delete(f.old, ch.Name)
			continue
		}
		if !f.yielded[ch.Name] {
			f.yielded[ch.Name] = true
		}
		if f.Old && ch.Unread == nil {
			f.old[ch.Name] = ch.New
		}
	}
}

// sweep adds a Gone to changes for each known object that the present stream, which has yielded all
// objects, has not yielded. It yields the batches that are full, and returns the changes of the
// last one.
func (f *follower[V]) sweep(changes []Change[V]) []Change[V] {
	changes = slices.Clip(changes)
	for name, seen := range f.yielded {
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
		delete(f.yielded, name)
		delete(f.old, name)
	}
	return changes
}

// sleep waits for d, and reports false if ctx ended before.
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
