package registry

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// Records are objects of one kind under a key prefix that belongs to no resource. The servers of
// one store share state in them, such as the node ports that are taken; clients do not see them.
// They are not cached: each read asks the store. They are encoded like the objects of resources, in
// the preferred version. Errors are those of the store. All methods may be called at once.
type Records[T meta.Object] struct {
	store  storage.Store
	reader *reader
	prefix string
}

// RecordsOf returns the records of a kind under a key prefix, which ends in "/". It fails if the
// kind is not registered, or if T is not its hub type.
func RecordsOf[T meta.Object](cfg *Config, store storage.Store, gk meta.GroupKind, prefix string) (Records[T], error) {
	k := cfg.Kinds.Kind(gk)
	if k == nil {
		return Records[T]{}, fmt.Errorf("registry: records of the kind %s, which is not registered", gk)
	}
	if _, ok := k.New().(T); !ok {
		return Records[T]{}, fmt.Errorf("registry: records of %s as %T, but the hub type is %T", gk, *new(T), k.New())
	}
	stored := k.Versions()[0]
	return Records[T]{store, &reader{kind: k, stored: stored, protobuf: cfg.Protobuf && stored.Protobuf}, prefix}, nil
}

// Prefix returns the key prefix of the records. A record is stored at Prefix + its name.
func (r Records[T]) Prefix() string { return r.prefix }

// Get returns a record and its revision.
func (r Records[T]) Get(ctx context.Context, name string) (T, storage.Revision, error) {
	e, err := r.store.Get(ctx, r.prefix+name)
	if err != nil {
		return *new(T), 0, err
	}
	obj, err := r.decode(ctx, &e)
	return obj, e.Rev, err
}

// List returns all records, sorted by name, and the revision of that state. It leaves out records
// that cannot be read.
func (r Records[T]) List(ctx context.Context) ([]T, storage.Revision, error) {
	res, err := r.store.Range(ctx, storage.RangeRequest{Prefix: r.prefix})
	if err != nil {
		return nil, 0, err
	}
	var list []T
	for i := range res.Entries {
		if obj, err := r.decode(ctx, &res.Entries[i]); err == nil {
			list = append(list, obj)
		}
	}
	return list, res.Rev, nil
}

// Put writes a record if pre holds, with a lease if that is not 0, and returns its revision. See
// storage.Store.
func (r Records[T]) Put(
	ctx context.Context, name string, obj T, pre storage.Pre, lease storage.LeaseID,
) (storage.Revision, error) {
	value, _, err := r.reader.encode(ctx, obj)
	if err != nil {
		return 0, err
	}
	e, err := r.store.Put(ctx, r.prefix+name, value, pre, lease)
	return e.Rev, err
}

// Delete removes a record, whatever its revision.
func (r Records[T]) Delete(ctx context.Context, name string) error {
	_, err := r.store.Delete(ctx, r.prefix+name, storage.Pre{})
	return err
}

// Watch returns a cursor over the changes of the records after a revision. See storage.Store.
func (r Records[T]) Watch(ctx context.Context, after storage.Revision) (storage.Cursor, error) {
	return r.store.Watch(ctx, storage.WatchRequest{Prefix: r.prefix, After: after})
}

func (r Records[T]) decode(ctx context.Context, e *storage.Entry) (T, error) {
	var decoded codec.Decoded
	err := e.Err
	if err == nil {
		decoded, err = r.reader.kind.Decode(storedAs(e.Value))
	}
	if err != nil {
		return *new(T), &storage.Error{Op: "decode", Key: e.Key, Kind: storage.Corrupt, Rev: e.Rev, Err: err}
	}
	hub, err := kind.ToHub(ctx, r.reader.kind, decoded.Object)
	if err != nil {
		return *new(T), err
	}
	obj, ok := hub.(T)
	if !ok {
		return *new(T), &storage.Error{
			Op: "decode", Key: e.Key, Kind: storage.Corrupt, Rev: e.Rev, Err: otherKind(decoded.GVK.Kind),
		}
	}
	return obj, nil
}
