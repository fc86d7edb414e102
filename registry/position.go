package registry

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Position is a position in the history of a Store's objects, from which ChangesSince reads on. A
// caller that keeps an index of all objects remembers it. See cache.Position.
type Position = cache.Position

// Changed is one changed object. Encoded is nil if the object was deleted or cannot be read. Err
// says why it cannot be read.
type Changed struct {
	Namespace, Name string
	Encoded         request.Encoded
	Err             error
}

// Holds reports whether nothing has changed after p, as far as this server has seen the store or
// answered writes itself. It is cheap, so that it can be called at each request.
func (s *Store) Holds(p Position) bool { return s.objects.Holds(p) }

// Reloads reports whether the cache is loading its objects again. Until they are loaded,
// ChangesSince cannot return more than the caller knows at p.
func (s *Store) Reloads(p Position) bool { return s.objects.Reloads(p) }

// ChangesSince returns the changes after p in order, up to at least the revision least, and the
// position behind them. If whole is set, changes lists all objects instead, because p is too old or
// zero.
func (s *Store) ChangesSince(
	ctx context.Context, p Position, least storage.Revision,
) (changes []Changed, whole bool, next Position, err error) {
	list, whole, next, err := s.objects.ChangesSince(ctx, p, least)
	if err != nil {
		return nil, false, p, s.apiError(err, "")
	}
	changes = make([]Changed, len(list))
	for i, ch := range list {
		namespace, name := s.split(ch.Key)
		changes[i] = Changed{Namespace: namespace, Name: name}
		switch {
		case ch.Object == nil:
		case ch.Object.Err() != nil:
			changes[i].Err = s.apiError(ch.Object.Err(), name)
		default:
			changes[i].Encoded = ch.Object
		}
	}
	return changes, whole, next, nil
}

// CatchUp waits until the cache has seen all writes, through any server, that ended before the
// call.
func (s *Store) CatchUp(ctx context.Context) error { return s.apiError(s.objects.CatchUp(ctx), "") }
