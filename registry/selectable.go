package registry

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// Selectable are the labels and selectable fields of an object, which the cache keeps beside it, so
// that reading them decodes nothing.
type Selectable struct{ obj *cache.Object }

// Selectable reads the labels and selectable fields of an object. Errors are those of Read.
func (s *Store) Selectable(ctx context.Context, namespace, name string, fresh request.Freshness) (Selectable, error) {
	obj, err := s.read(ctx, namespace, name, fresh)
	return Selectable{obj}, err
}

// Labels returns the object's labels.
func (s Selectable) Labels() meta.Lookup { return labels{s.obj} }

// Field returns the value of a selectable field, "" if the kind has no such field.
func (s Selectable) Field(label string) string {
	value, _ := s.obj.Fields.Get(label)
	return value
}

// labels are the labels of an object. The struct is one pointer, so that it becomes a meta.Lookup
// without an allocation.
type labels struct{ obj *cache.Object }

func (l labels) Get(key string) (string, bool) { return l.obj.Labels.Get(key) }
