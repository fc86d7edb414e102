package follow

import (
	"context"
	"errors"
	"slices"
)

// Name names an object of a resource. The namespace is "" for an object outside of namespaces.
type Name struct{ Namespace, Name string }

// Change is what has become of an object. It is one of three: the object is there, and New is what
// it is like; it is Gone; or it is there and Unread, in a state that cannot be read.
type Change[V any] struct {
	// Name has memory of its own: it refers to no object.
	Name Name
	// Old is what was told of the object before. It is the zero V if nothing was, and without
	// Options.Old.
	Old V
	// New is the object as it is now. It is the zero V if the object is gone or unread.
	New V
	// Gone: the object is not there any more, or has ceased to match what the Source selects.
	Gone bool
	// Unread says why the object cannot be read, which meta.IsUnreadable knows. An earlier state
	// that was told is the last that is known.
	Unread error
}

// Batch is some changes, in order.
type Batch[V any] struct {
	// Changes are at most MaxChanges. The slice is valid until the next batch.
	Changes []Change[V]
	// InStep: everything up to ResourceVersion has been told. It is false only while a Source tells
	// of all objects that there are, which takes several batches.
	InStep          bool
	ResourceVersion string
}

// MaxChanges is how many changes a batch has at most.
const MaxChanges = 512

// Source is a resource, or a part of it, whose objects can be followed as values of type V. Its
// methods may be called at once.
type Source[V any] interface {
	// Open returns a stream of what happens after a revision. If after is "", the stream first
	// tells of all objects that there are; its first batch that is InStep ends that. The stream
	// ends with ctx.
	//
	// An error that meta.IsResourceExpired or meta.IsGone knows says that the Source does not know
	// any more what happened after the revision. ErrEnded says that there is no such resource any
	// more.
	Open(ctx context.Context, after string) (Stream[V], error)
}

// Stream is what a Source tells. It belongs to one goroutine.
type Stream[V any] interface {
	// Next waits for a batch. The changes have no Old. The error is io.EOF if the stream has ended
	// in good order; the others are those of Open. After an error the stream has ended.
	Next() (Batch[V], error)
	// Close releases what the stream holds.
	Close()
}

// ErrEnded is the error of a Source whose resource is not served any more, and will not be.
var ErrEnded = errors.New("the resource is not served any more")

// Map returns a Source that tells what f makes of each object of another one. Who needs little of
// large objects follows that. f is called once for each state that can be read.
func Map[A, B any](source Source[A], f func(A) B) Source[B] { return &mapped[A, B]{source, f} }

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

type mappedStream[A, B any] struct {
	Stream[A]
	f   func(A) B
	buf []Change[B] // used again by each Next; zero behind its length
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
