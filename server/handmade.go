package server

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/file"
)

// acceptor judges what is found in a file of the store.
type acceptor func(file.Found) ([]byte, file.Birth, error)

// accepting judges files by what the resource that they belong to is declared as, once declared is closed. What is
// encrypted is taken as it is, and so are files of resources that are not there, until these are installed.
func accepting(t *generic.Table, declared <-chan struct{}) acceptor {
	return func(f file.Found) ([]byte, file.Birth, error) {
		<-declared
		e := t.OfKey(f.Key)
		if e == nil || e.Store == nil || encryption.Encrypted(f.Value) {
			return f.Value, file.Birth{}, nil
		}
		chain, ctx := e.Chain(), context.Background()                    // what is not encrypted is decrypted at once
		if _, _, err := chain.Decrypt(ctx, f.Key, f.Value); err != nil { // nobody could read it
			return nil, file.Birth{}, err
		}
		old, _, _ := chain.Decrypt(ctx, f.Key, f.Old)
		if f.Birth == (file.Birth{}) {
			f.Birth.At = f.Modified
		}
		since := meta.NewTime(f.Birth.At)
		value, id, err := e.Store.Handmade(f.Key, f.Value, old, registry.Identity{UID: meta.UID(f.Birth.ID), Created: &since})
		if err != nil || id == (registry.Identity{}) {
			return value, file.Birth{}, err
		}
		return value, file.Birth{ID: string(id.UID), At: id.Created.Time}, nil
	}
}
