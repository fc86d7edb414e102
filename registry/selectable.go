package registry

import (
	"context"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/cache"
)

// Selectable is what selectors see of an object: its labels, and the fields that its declaration
// names. It is read without decoding the object.
type Selectable struct{ obj *cache.Object }

// Selectable returns what selectors see of an object. resourceVersion is as in a GET. Errors are
// those of Get.
func (s *Store) Selectable(ctx context.Context, namespace, name, resourceVersion string) (Selectable, error) {
	obj, err := s.get(ctx, namespace, name, resourceVersion)
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
