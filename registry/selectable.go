package registry

import (
	"context"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// Selectable is what selectors see of an object: its labels, and the fields that its declaration
// names. It is read without decoding the object.
type Selectable struct{ obj *cache.Object }

// Selectable returns what selectors see of an object. Errors are those of Read.
func (s *Store) Selectable(ctx context.Context, namespace, name string, fresh request.Freshness) (Selectable, error) {
	obj, err := s.read(ctx, namespace, name, fresh)
	return Selectable{obj}, err
}

// Labels are the object's labels.
func (s Selectable) Labels() meta.Lookup { return labels{s.obj} }

// Field returns a selectable field, "" for one that there is not.
func (s Selectable) Field(label string) string {
	value, _ := s.obj.Fields.Get(label)
	return value
}

// labels are those of an object. As one pointer they are a Lookup without an allocation.
type labels struct{ obj *cache.Object }

func (l labels) Get(key string) (string, bool) { return l.obj.Labels.Get(key) }
