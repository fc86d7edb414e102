package registry

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Place is how far somebody has read a Store who keeps something made of all its objects; see
// cache.Place.
type Place = cache.Place

// Changed is what has become of an object. Encoded is nil if it is gone, or cannot be read.
type Changed struct {
	Namespace, Name string
	Encoded         request.Encoded
}

// Holds reports whether nothing has changed after p that this server knows of, or has answered a
// write with.
func (s *Store) Holds(p Place) bool { return s.objects.Holds(p) }

// Reloads reports whether there is nothing to read but what is known at p, because the objects are
// being loaded again.
func (s *Store) Reloads(p Place) bool { return s.objects.Reloads(p) }

// Since returns what has changed after p, in order, as of revision least or later, and the place
// behind that. If whole is set it is all there is.
func (s *Store) Since(ctx context.Context, p Place, least storage.Revision) (changes []Changed, whole bool, next Place, err error) {
	list, whole, next, err := s.objects.Since(ctx, p, least)
	if err != nil {
		return nil, false, p, s.apiError(err, "")
	}
	changes = make([]Changed, len(list))
	for i, ch := range list {
		namespace, name := s.split(ch.Key)
		changes[i] = Changed{Namespace: namespace, Name: name}
		if ch.Object != nil && ch.Object.Err() == nil {
			changes[i].Encoded = ch.Object
		}
	}
	return changes, whole, next, nil
}

// CatchUp waits until this server has seen all writes, through whichever server, that ended before.
func (s *Store) CatchUp(ctx context.Context) error { return s.apiError(s.objects.CatchUp(ctx), "") }
