package backing

import (
	"context"
	"sync"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Taps shows all stored objects of all backends, undecoded, and then their changes. The changes of
// one backend come in order. Unlike a follow.Source, Taps shows all resources together and keeps no
// state of single objects; server/holdings feeds the garbage collector with it. One goroutine uses
// it.
type Taps struct {
	keys    Keys
	of      Backends
	open    []*cache.Tap // one for each backend
	batches chan shown   // nil until the first Next
	stop    context.CancelFunc
	pumps   sync.WaitGroup
	last    shown
}

// shown is a batch of events of one Tap. The reader may use its memory until the reader sends to
// done.
type shown struct {
	events []storage.Event
	err    error
	done   chan struct{}
}

// OpenTaps opens Taps of all backends at their present revisions.
func (b Backends) OpenTaps(ctx context.Context) (*Taps, error) {
	t := &Taps{keys: b.Main().cfg.Keys, of: b}
	for _, one := range b {
		tap, err := one.Cache.Tap(ctx)
		if err != nil {
			t.Close()
			return nil, err
		}
		t.open = append(t.open, tap)
	}
	return t, nil
}

// lives reports whether the resource of a key lives in the backend b. If not, the value is left
// over from the time before an override moved the resource.
func (t *Taps) lives(b *Backend, key string) bool {
	if len(t.of) == 1 {
		return true
	}
	r := t.keys.RecordOf(key)
	return r == nil || r.Backend == b
}

// Entries yields all stored objects. It ends with the first error.
func (t *Taps) Entries(ctx context.Context) func(yield func(storage.Entry, error) bool) {
	return func(yield func(storage.Entry, error) bool) {
		for i, tap := range t.open {
			for entry, err := range tap.Entries(ctx) {
				if err == nil && !t.lives(t.of[i], entry.Key) {
					continue
				}
				if !yield(entry, err) || err != nil {
					return
				}
			}
		}
	}
}

// Next waits for the next batch of changes. The caller may use the batch until the next call. After
// an error of cache.Tap.Next there are no more changes.
func (t *Taps) Next(ctx context.Context) ([]storage.Event, error) {
	if len(t.open) == 1 {
		return t.open[0].Next(ctx)
	}
	if t.batches == nil {
		t.pump()
	}
	if t.last.done != nil {
		t.last.done <- struct{}{}
		t.last = shown{}
	}
	select {
	case t.last = <-t.batches:
		return t.last.events, t.last.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pump starts a goroutine for each Tap. The goroutine sends a batch, and waits until the reader is
// done with the batch, because the next one uses the same memory.
func (t *Taps) pump() {
	t.batches = make(chan shown)
	ctx, stop := context.WithCancel(context.Background())
	t.stop = stop
	for i, tap := range t.open {
		t.pumps.Go(func() {
			for done := make(chan struct{}, 1); ; {
				events, err := tap.Next(ctx)
				kept := events[:0]
				for _, ev := range events {
					if t.lives(t.of[i], ev.Key) {
						kept = append(kept, ev)
					}
				}
				select {
				case t.batches <- shown{kept, err, done}:
				case <-ctx.Done():
					return
				}
				select {
				case <-done:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		})
	}
}

// Close ends the goroutines and closes the Taps.
func (t *Taps) Close() {
	if t.stop != nil {
		t.stop()
		t.pumps.Wait()
	}
	for _, tap := range t.open {
		tap.Close()
	}
}
