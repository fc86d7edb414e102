package backing

import (
	"context"
	"sync"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Taps show what all backends store, each what lives in it, and all changes of that: those of one
// backend in order. Unlike a follow.Source, they are of no single resource, and whoever reads them
// keeps no name of what it was shown: see server/holdings.
type Taps struct {
	keys    Keys
	of      Backends
	open    []*cache.Tap // one for each
	batches chan shown   // nil until the first Next
	stop    context.CancelFunc
	pumps   sync.WaitGroup
	last    shown
}

// shown is a batch of what one Tap has shown. It may be used until done is sent to.
type shown struct {
	events []storage.Event
	err    error
	done   chan struct{}
}

// OpenTaps opens Taps of all backends, as of now.
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

// lives reports whether what is at a key of a backend counts: what was there before its resource
// moved does not.
func (t *Taps) lives(b *Backend, key string) bool {
	if len(t.of) == 1 {
		return true
	}
	r := t.keys.Of(key)
	return r == nil || r.Backend == b
}

// Entries yields what is stored.
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

// Next waits for changes. They are the caller's until the next call. Errors: those of
// cache.Tap.Next, and then no more changes.
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

// pump has each Tap send what it shows, one batch at a time.
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

// Close ends them.
func (t *Taps) Close() {
	if t.stop != nil {
		t.stop()
		t.pumps.Wait()
	}
	for _, tap := range t.open {
		tap.Close()
	}
}
