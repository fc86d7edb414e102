package generic

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/file"
)

// Acceptor decides on the content of a file of the file engine. It returns the value that the store
// gets, and the UID and creation time that it has added to the object, if any, or the error with
// which the file is refused. It is file.Config.Accept.
type Acceptor func(file.Found) ([]byte, file.Birth, error)

// AcceptorOf returns the Acceptor that checks and completes files that people wrote, each by the
// declaration of its resource (registry.Store.Handmade). Each call waits until declared is closed,
// because the engine opens while the resources are still being declared.
//
// The Acceptor accepts two sorts of files unchecked: an encrypted value, which the server wrote
// itself, and the file of a resource that does not exist. If the resource is installed later,
// Resources.Install lets the engine check the file again (review).
func AcceptorOf(t *Table, declared <-chan struct{}) Acceptor {
	return func(f file.Found) ([]byte, file.Birth, error) {
		<-declared
		e := t.OfKey(f.Key)
		if e == nil || e.Store == nil || encryption.Encrypted(f.Value) {
			return f.Value, file.Birth{}, nil
		}
		chain, ctx := e.Chain(), context.Background() // decrypting plain text asks no plugin
		// The file is plain text. If the chain has no identity provider, it could not read the
		// value from the store later, so the file is refused here.
		if _, _, err := chain.Decrypt(ctx, f.Key, f.Value); err != nil {
			return nil, file.Birth{}, err
		}
		// If the old value cannot be decrypted, old is nil, and the object gets no identity from
		// it.
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
