package generic

import (
	"context"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/file"
)

// Acceptor judges what is found in a file of a store of files, as file.Config.Accept is to do.
type Acceptor func(file.Found) ([]byte, file.Birth, error)

// AcceptorOf returns what judges files by what the resource that they belong to is declared as. It
// waits until declared is closed. It takes a value that is encrypted as it is, and so the files of
// resources that are not there: they are judged when these are installed.
func AcceptorOf(t *Table, declared <-chan struct{}) Acceptor {
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
