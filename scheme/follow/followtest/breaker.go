package followtest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/follow"
)

// breaker.go wraps the Source under test, so that a law decides when a stream breaks and when the
// next one may begin. In between it writes, or lets the Source forget.

// breaker is a Source whose streams can be broken, and held before they begin. At most one stream
// is expected to be open.
type breaker[V any] struct {
	source follow.Source[V]
	open   atomic.Int32 // streams that are not closed

	mu struct {
		sync.Mutex
		cause  error              // the error with which the current break ends a stream
		cut    context.CancelFunc // breaks the newest stream
		held   chan struct{}      // closed when streams may begin; nil if they may
		afters []string           // the resource version after which each stream began, "" for all objects
		fails  int                // the call of Next at which each new stream breaks; 0 for none
	}
}

func newBreaker[V any](source follow.Source[V]) *breaker[V] { return &breaker[V]{source: source} }

// errBroken is the error of a stream that is broken, if the law does not care about the error.
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

// breakable is a stream that a breaker can break. Its context ends with that of the follower, or
// when the breaker cuts it.
type breakable[V any] struct {
	follow.Stream[V]
	b     *breaker[V]
	ctx   context.Context
	cut   context.CancelFunc
	fails int // calls of Next until it breaks by itself; 0 or less for never
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

// cut breaks the newest stream: its Next returns cause.
func (b *breaker[V]) cut(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.cause = cause
	b.mu.cut()
}

// hold keeps new streams from beginning until release is called.
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

// fail makes each stream that begins afterwards break at its batches-th call of Next, after one
// batch less than that. 0 ends this.
func (b *breaker[V]) fail(batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.fails = batches
}

// begun returns the resource versions after which streams have begun since the last call of begun.
func (b *breaker[V]) begun() (afters []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	afters, b.mu.afters = b.mu.afters, nil
	return afters
}
