package followtest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/follow"
)

// breaker is a Source whose streams can be broken, and held before they begin.
type breaker[V any] struct {
	source follow.Source[V]
	open   atomic.Int32 // streams that are not closed

	mu struct {
		sync.Mutex
		cause  error // of the next break
		cut    context.CancelFunc
		held   chan struct{} // closed when streams may begin; nil: they may
		afters []string      // where streams began
		fails  int           // so many batches until each stream breaks by itself; 0: none does
	}
}

func newBreaker[V any](source follow.Source[V]) *breaker[V] { return &breaker[V]{source: source} }

// errBroken is what a stream ends with that is broken without a better reason.
var errBroken = errors.New("the stream is broken on purpose")

// Open implements follow.Source.
func (b *breaker[V]) Open(ctx context.Context, after string) (follow.Stream[V], error) {
	b.mu.Lock()
	held := b.mu.held
	b.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	within, cut := context.WithCancel(ctx)
	b.mu.Lock()
	b.mu.cut = cut
	b.mu.afters = append(b.mu.afters, after)
	s := &breakable[V]{b: b, ctx: within, cut: cut, fails: b.mu.fails}
	b.mu.Unlock()
	var err error
	if s.Stream, err = b.source.Open(within, after); err != nil {
		cut()
		return nil, err
	}
	b.open.Add(1)
	return s, nil
}

// breakable is a stream that a breaker can break.
type breakable[V any] struct {
	follow.Stream[V]
	b     *breaker[V]
	ctx   context.Context
	cut   context.CancelFunc
	fails int
}

// Next implements follow.Stream.
func (s *breakable[V]) Next() (follow.Batch[V], error) {
	if s.fails == 1 {
		return follow.Batch[V]{}, errBroken
	}
	s.fails--
	batch, err := s.Stream.Next()
	if s.ctx.Err() != nil {
		s.b.mu.Lock()
		defer s.b.mu.Unlock()
		return follow.Batch[V]{}, cmp.Or(s.b.mu.cause, s.ctx.Err())
	}
	return batch, err
}

// Close implements follow.Stream.
func (s *breakable[V]) Close() {
	s.Stream.Close()
	s.cut()
	s.b.open.Add(-1)
}

// cut breaks the stream that there is.
func (b *breaker[V]) cut(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.cause = cause
	b.mu.cut()
}

// hold lets no stream begin until release is called.
func (b *breaker[V]) hold() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := make(chan struct{})
	b.mu.held = held
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.mu.held = nil
		close(held)
	})
}

// fail breaks each stream that begins from now on after so many batches less one; 0: none.
func (b *breaker[V]) fail(batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.fails = batches
}

// begun returns where the streams began since the last call.
func (b *breaker[V]) begun() (afters []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	afters, b.mu.afters = b.mu.afters, nil
	return afters
}
