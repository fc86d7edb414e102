// Package encryption encrypts values at rest (Kubernetes' EncryptionConfiguration, KEP-3299 for KMS
// v2). Wrap makes any store hold ciphertext; keys and revisions stay readable.
//
// Words: a Provider is one key of one method. A Chain is the providers of a resource: the first
// writes, and all read. A seed is the secret from which KMS v2 derives a key for each value. A Set
// is a Config at work, with its plugins. Current is the Set in force, and a Choice is the chain of
// one resource in it. A value is stale if Encrypt would use another provider or key for it.
//
// Stored bytes are those of Kubernetes, so that each server can read the other's data with the same
// configuration file: a prefix that names method, version and key, as in "k8s:enc:aesgcm:v1:key1:",
// then the ciphertext. A stale value is written anew at its next update. To rotate a key: add the
// new key in second place on all servers, move it to first place on all, update all objects, remove
// the old key.
//
// Methods:
//   - AES-GCM is bound to the value's key in the store, so that values cannot be swapped. It draws
//     its nonce at random, so one key should not write more than about 2^32 values.
//   - AES-CBC is not authenticated. It is for old data.
//   - secretbox is XSalsa20-Poly1305.
//   - identity stores the value as it is.
//   - KMS v2 asks a plugin to encrypt a seed, from which each value has a key derived. The
//     encrypted seed is stored beside each value (object.go). The plugin's name for its key decides
//     which values are stale. A plugin (kms.go) holds the seed that writes, and is asked for its
//     state once a minute. Without an answer writes go on for 3 minutes, and reads as long as their
//     seeds are cached (seeds.go).
//
// Laws:
//   - A value that cannot be decrypted is never passed on. Get fails with storage.Corrupt. Range
//     and Watch return its key with the error instead of a value, because one damaged secret must
//     not hide all others.
//   - While a plugin does not answer, Get and Range of values whose seed is not cached fail with
//     storage.Unavailable, and can be tried again. Watch returns such an event with that error.
//
// A Config is what a file says. Open makes a Set of it. Current holds the Set in force, which
// another Set may replace at any time. All methods may be called at once. A Set owns a goroutine
// for each plugin; Close waits for them.
//
// Not here: the transport to plugins (Options.Dial), watching the configuration file, and metrics
// (Hooks).
//
// Read: encryption.go, method.go, config.go, validate.go, set.go, kms.go, seeds.go, object.go,
// meter.go.
package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Provider is one key of one method, or the identity. AESGCM, AESCBC, Secretbox and Identity make
// one.
type Provider struct {
	prefix []byte // empty for identity
	key    int    // length of the key's name and its colon at the end of prefix; 0 if prefix does not name the key
	method method // nil for identity
	meter  *meter // nil if nothing is measured
}

// method encrypts and decrypts the bytes behind the prefix. A method that can authenticate includes
// aad, which is the value's key in the store.
type method interface {
	seal(ctx context.Context, plain, aad []byte) ([]byte, error)
	// open decrypts data. stale reports whether seal would use another key.
	open(ctx context.Context, data, aad []byte) (plain []byte, stale bool, err error)
}

// Chain is a list of providers. The first writes, and all read. A nil or empty Chain leaves values
// as they are.
type Chain []Provider

// encrypted begins the stored bytes of every provider but identity.
var encrypted = []byte("k8s:enc:")

// Encrypted reports whether data was stored by a provider other than identity.
func Encrypted(data []byte) bool { return bytes.HasPrefix(data, encrypted) }

var (
	errNoProvider   = errors.New("no provider has the key that the value was encrypted with")
	errNotEncrypted = errors.New("the value is not encrypted, and there is no identity provider")
)

// Encrypt returns the bytes to be stored for value at key.
func (c Chain) Encrypt(ctx context.Context, key string, value []byte) ([]byte, error) {
	if len(c) == 0 {
		return value, nil
	}
	began, p := time.Now(), &c[0]
	if len(p.prefix) == 0 {
		p.encrypted(began, nil)
		return value, nil
	}
	data, err := p.method.seal(ctx, value, []byte(key))
	p.encrypted(began, err)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(p.prefix), data...), nil
}

// Decrypt returns the value of the bytes that are stored at key. stale is true if Encrypt would use
// another provider or another key. It tries all providers whose prefix the bytes have, and returns
// the error of the last.
func (c Chain) Decrypt(ctx context.Context, key string, data []byte) (value []byte, stale bool, err error) {
	enciphered := Encrypted(data)
	switch {
	case len(c) == 0 && !enciphered:
		return data, false, nil
	case len(c) == 0:
		return nil, false, errNoProvider
	}
	began := time.Now()
	for i := range c {
		p := &c[i]
		if enciphered != (len(p.prefix) > 0) || !bytes.HasPrefix(data, p.prefix) {
			continue
		}
		if !enciphered {
			p.decrypted(began, nil)
			return data, i != 0, nil
		}
		value, old, oerr := p.method.open(ctx, data[len(p.prefix):], []byte(key))
		p.decrypted(began, oerr)
		if oerr == nil {
			return value, old || i != 0, nil
		}
		err = fmt.Errorf("%s %w", p.prefix, oerr)
	}
	if err == nil {
		if err = errNoProvider; !enciphered {
			err = errNotEncrypted
		}
		if m := c[0].meter; m != nil {
			m.unknown(time.Since(began), err)
		}
	}
	return nil, false, err
}

// Wrap returns a store that encrypts the values of s with the chain that choose returns for their
// key. choose is called for each value and must be quick.
func Wrap(s storage.Store, choose func(key string) Chain) storage.Store {
	return &store{Store: s, choose: choose}
}

// store is the wrapper that Wrap returns. Methods that handle no values are those of the wrapped
// store.
type store struct {
	storage.Store
	choose func(key string) Chain
}

// Unwrap implements storage.Wrapper.
func (s *store) Unwrap() storage.Store { return s.Store }

// decrypt returns the value of the bytes that are stored at key. Errors: Corrupt, or Unavailable if
// another try may succeed.
func (s *store) decrypt(
	ctx context.Context, op, key string, rev storage.Revision, data []byte,
) (value []byte, stale bool, err error) {
	value, stale, err = s.choose(key).Decrypt(ctx, key, data)
	switch {
	case err == nil:
		return value, stale, nil
	case passing(err):
		return nil, false, &storage.Error{Op: op, Key: key, Kind: storage.Unavailable, Err: err}
	}
	return nil, false, &storage.Error{Op: op, Key: key, Kind: storage.Corrupt, Rev: rev, Err: err}
}

// Get implements storage.Store. Its errors include Corrupt (Error.Rev is the revision of the key)
// and Unavailable.
func (s *store) Get(ctx context.Context, key string) (storage.Entry, error) {
	e, err := s.Store.Get(ctx, key)
	if err != nil {
		return e, err
	}
	if e.Value, e.Stale, err = s.decrypt(ctx, "get", key, e.Rev, e.Value); err != nil {
		return storage.Entry{}, err
	}
	return e, nil
}

// Range implements storage.Store. An entry that cannot be decrypted has Err instead of a value.
func (s *store) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	res, err := s.Store.Range(ctx, req)
	if err != nil {
		return res, err
	}
	for i := range res.Entries {
		e := &res.Entries[i]
		if e.Value, e.Stale, e.Err = s.decrypt(ctx, "range", e.Key, e.Rev,
			e.Value); storage.KindOf(e.Err) == storage.Unavailable {
			return storage.RangeResult{}, e.Err
		}
	}
	return res, nil
}

// Put implements storage.Store. The returned entry has the value, not its ciphertext. An error of
// the encryption is Unavailable: nothing was written.
func (s *store) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID,
) (storage.Entry, error) {
	data, err := s.choose(key).Encrypt(ctx, key, value)
	if err != nil {
		return storage.Entry{}, &storage.Error{Op: "put", Key: key, Kind: storage.Unavailable, Err: err}
	}
	e, err := s.Store.Put(ctx, key, data, pre, lease)
	if err != nil {
		return e, err
	}
	e.Value = value
	return e, nil
}

// Watch implements storage.Store.
func (s *store) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := s.Store.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &cursor{Cursor: c, store: s}, nil
}

// cursor decrypts the events of a cursor.
type cursor struct {
	storage.Cursor
	store *store
}

// Next implements storage.Cursor. An event that cannot be decrypted has Err instead of a value. A
// previous value that cannot be decrypted is left out.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	b, err := c.Cursor.Next(ctx)
	if err != nil || len(b.Events) == 0 {
		return b, err
	}
	events := make([]storage.Event, len(b.Events)) // the engine may share its slice among cursors
	for i, ev := range b.Events {
		if !ev.Deleted {
			ev.Value, ev.Stale, ev.Err = c.store.decrypt(ctx, "watch", ev.Key, ev.Rev, ev.Value)
		}
		if ev.PrevRev != 0 {
			ev.Prev, _, _ = c.store.decrypt(ctx, "watch", ev.Key, ev.PrevRev, ev.Prev)
		}
		events[i] = ev
	}
	b.Events = events
	return b, nil
}
