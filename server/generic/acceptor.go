package generic

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/file"
)

// Acceptor decides on the content of a file of the file engine: see file.Config.Accept.
type Acceptor func(file.Found) ([]byte, file.Birth, error)

// AcceptorOf returns the Acceptor that checks and completes each file by the declaration of its
// resource (registry.Store.AcceptValue). Each call waits until declared is closed, because the
// engine opens while the resources are still being declared.
//
// It accepts two sorts of files unchecked: an encrypted value, which the server wrote itself, and
// the file of a resource that does not exist, which Resources.Install has checked later (review).
func AcceptorOf(t *Table, declared <-chan struct{}) Acceptor {
	return func(f file.Found) ([]byte, file.Birth, error) {
		<-declared
		e := t.OfKey(f.Key)
		if e == nil || e.Store == nil || encryption.Encrypted(f.Value) {
			return f.Value, file.Birth{}, nil
		}
		chain, ctx := e.Chain(), context.Background() // decrypting plain text asks no plugin
		// A chain without an identity provider could not read the value from the store.
		if _, _, err := chain.Decrypt(ctx, f.Key, f.Value); err != nil {
			return nil, file.Birth{}, err
		}
		// An old value that cannot be decrypted gives no identity, so it is left out.
		old, _, _ := chain.Decrypt(ctx, f.Key, f.Old)
		if f.Birth == (file.Birth{}) {
			f.Birth.At = f.Modified // the creationTimestamp of an object that is new to the store
		}
		since := meta.NewTime(f.Birth.At)
		value, id, err := e.Store.AcceptValue(f.Key, f.Value, old,
			registry.Identity{UID: meta.UID(f.Birth.ID), Created: &since})
		if err != nil || id == (registry.Identity{}) {
			return value, file.Birth{}, err
		}
		return value, file.Birth{ID: string(id.UID), At: id.Created.Time}, nil
	}
}
