package client

import (
	"context"
	"iter"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Follow yields what becomes of the objects that opts select, one by one, as follow.Changes tells
// it: Added events, and Deleted events with nothing but a name. It goes when its last caller has gone.
func (r Resource[T]) Follow(ctx context.Context, opts meta.ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		for b := range follow.Changes(ctx, r.Source(opts), follow.Options{}) {
			for _, ch := range b.Changes {
				ev := Event[T]{Added, ch.New}
				if ch.Gone {
					ev = Event[T]{Deleted, nameOnly[T](ch.Name.Namespace, ch.Name.Name)}
				}
				if ch.Unread == nil && !yield(ev, nil) {
					return
				}
			}
		}
	}
}
