package follow

import (
	"context"
	"errors"
	"slices"
)

// Name names an object of a resource. The namespace is "" for an object outside of namespaces.
type Name struct{ Namespace, Name string }

// Change is a new state of an object. There are three: the object exists, and New is the object; it
// is Gone; or it exists, but cannot be read (Unread).
type Change[V any] struct {
	// Name shares no memory with an object, so keeping it keeps no object alive.
	Name Name
	// Old is the state of the object that was yielded before. It is the zero V if there was none,
	// or if Options.Old is not set.
	Old V
	// New is the object in its new state. It is the zero V if the object is Gone or Unread.
	New V
	// Gone says that the object was deleted, or that the Source no longer selects it.
	Gone bool
	// Unread is the error that says why the object cannot be read; meta.IsUnreadable is true for
	// it. The state that was yielded before stays the last known one.
	Unread error
}

// Batch is a list of changes, in order.
type Batch[V any] struct {
	// Changes are at most MaxChanges. The slice is valid until the next batch.
	Changes []Change[V]
	// InStep says that all changes up to ResourceVersion have been yielded. It is false only in the
	// first batches of a stream that yields all objects, before the last of them.
	InStep          bool
	ResourceVersion string
}

// MaxChanges is the largest number of changes in a batch.
const MaxChanges = 512

// Source is a resource, or a part of it, whose objects can be followed as values of type V. Its
// methods may be called concurrently.
type Source[V any] interface {
	// Open returns a stream of the changes after a revision. If after is "", the stream first
	// yields all objects; its first batch that is InStep has the last of them. The stream ends with
	// ctx.
	//
	// If the Source no longer has the changes after the revision, meta.IsResourceExpired or
	// meta.IsGone is true for the error. ErrEnded says that the resource is no longer served.
	Open(ctx context.Context, after string) (Stream[V], error)
}

// Stream yields the changes of a Source, from Open to Close. It belongs to one goroutine.
type Stream[V any] interface {
	// Next waits for a batch. Change.Old is not set in it. The error is io.EOF if the stream has
	// ended in good order, and otherwise one of those of Open. After an error the stream has ended.
	Next() (Batch[V], error)
	// Close releases what the stream holds.
	Close()
}

// ErrEnded is the error of a Source whose resource is no longer served and will not come back.
var ErrEnded = errors.New("the resource is no longer served")

// Map returns a Source with the results of f for the objects of another Source. With it, a caller
// that needs little of large objects keeps only that. f is called once for each state that can be
// read.
func Map[A, B any](source Source[A], f func(A) B) Source[B] { return &mapped[A, B]{source, f} }

// mapped implements Map.
type mapped[A, B any] struct {
	source Source[A]
	f      func(A) B
}

// Open implements Source.
func (m *mapped[A, B]) Open(ctx context.Context, after string) (Stream[B], error) {
	s, err := m.source.Open(ctx, after)
	if err != nil {
		return nil, err
	}
	return &mappedStream[A, B]{Stream: s, f: m.f}, nil
}

// mappedStream is a stream of a mapped Source.
type mappedStream[A, B any] struct {
	Stream[A]
	f   func(A) B
	buf []Change[B] // reused by each Next; elements after its length are zero
}

// Next implements Stream.
func (s *mappedStream[A, B]) Next() (Batch[B], error) {
	b, err := s.Stream.Next()
	clear(s.buf)
	s.buf = slices.Grow(s.buf[:0], len(b.Changes))[:len(b.Changes)]
	for i := range b.Changes {
		from, to := &b.Changes[i], &s.buf[i]
		to.Name, to.Gone, to.Unread = from.Name, from.Gone, from.Unread
		if !from.Gone && from.Unread == nil {
			to.New = s.f(from.New)
		}
	}
	return Batch[B]{s.buf, b.InStep, b.ResourceVersion}, err
}
