// Package encryption encrypts values at rest. Wrap makes any store hold ciphertext; keys and revisions stay readable.
//
// Stored bytes are what Kubernetes writes, so either can read the other's data with the same configuration file: a
// prefix that names method, version and key, as in "k8s:enc:aesgcm:v1:key1:", then the ciphertext. A value is
// encrypted with the first key of the first provider, and can be read with any key of any; what was read with another
// than the first is Stale, and written anew at its next update. To rotate: add the new key in second place everywhere,
// then move it to the first, update all objects, remove the old one.
//
// The methods are AES-GCM (bound to the value's key in the store, so values cannot be swapped), AES-CBC (not
// authenticated; for old data), secretbox (XSalsa20-Poly1305), identity (nothing), and KMS v2. AES-GCM draws its nonce at
// random, so a key should not write more than about 2^32 values. With KMS v2 a plugin encrypts nothing but a seed, of which
// each value has a key derived of its own: the encrypted seed stands beside each value (object.go), and what the plugin calls
// its key decides what is stale. A Plugin (kms.go) has the seed that is written with, and asks the plugin once a minute for its state;
// without an answer writes go on for 3 minutes, and reads for as long as their seeds are known (seeds.go).
//
// A Config is what a file says; Open makes a Set of it, which works, and Current has the Set in force, which another may replace.
//
// A value that cannot be decrypted fails Get with storage.Corrupt; ranges and watches go on and show the key with the
// error instead of a value, because one damaged secret must not hide everything else. Nothing unreadable is passed on. While a
// plugin does not answer, Get and Range fail with storage.Unavailable, and can be tried again.
// Read: encryption.go, method.go, config.go, validate.go, set.go, kms.go, seeds.go, object.go, meter.go.
package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Provider is one key of one method.
type Provider struct {
	prefix []byte // empty for identity
	key    int    // how many bytes at the end of prefix name the key; 0 if that stands elsewhere
	method method
	meter  *meter
}

// method encrypts and decrypts what follows the prefix. aad is authenticated by those methods that can.
type method interface {
	seal(ctx context.Context, plain, aad []byte) ([]byte, error)
	// open also says whether seal would do something else today.
	open(ctx context.Context, data, aad []byte) (plain []byte, stale bool, err error)
}

// Chain is a list of providers; the first writes, all read. A nil or empty Chain does nothing to values.
type Chain []Provider

var encrypted = []byte("k8s:enc:")

// Encrypted reports whether data is what a provider other than identity has stored.
func Encrypted(data []byte) bool { return bytes.HasPrefix(data, encrypted) }

var (
	errNoProvider   = errors.New("no provider has the key that the value was encrypted with")
	errNotEncrypted = errors.New("the value is not encrypted, and there is no identity provider")
)

// Encrypt returns what is stored for value at key.
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

// Decrypt returns the value for what is stored at key. stale is true if Encrypt would not have written it like this.
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

// Wrap returns s with values encrypted by the chain that choose returns for their key. choose is called for each
// value and must be quick.
func Wrap(s storage.Store, choose func(key string) Chain) storage.Store {
	return &store{Store: s, choose: choose}
}

type store struct {
	storage.Store
	choose func(key string) Chain
}

// Unwrap implements storage.Wrapper.
func (s *store) Unwrap() storage.Store { return s.Store }

// decrypt returns the value for what is stored at key since rev. Errors: Corrupt, or Unavailable if it may be another time.
func (s *store) decrypt(ctx context.Context, op, key string, rev storage.Revision, data []byte) (value []byte, stale bool, err error) {
	value, stale, err = s.choose(key).Decrypt(ctx, key, data)
	switch {
	case err == nil:
		return value, stale, nil
	case passing(err):
		return nil, false, &storage.Error{Op: op, Key: key, Kind: storage.Unavailable, Err: err}
	}
	return nil, false, &storage.Error{Op: op, Key: key, Kind: storage.Corrupt, Rev: rev, Err: err}
}

// Get implements storage.Store. Errors: also Corrupt (Error.Rev is the key's).
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

// Range implements storage.Store.
func (s *store) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	res, err := s.Store.Range(ctx, req)
	if err != nil {
		return res, err
	}
	for i := range res.Entries {
		e := &res.Entries[i]
		if e.Value, e.Stale, e.Err = s.decrypt(ctx, "range", e.Key, e.Rev, e.Value); storage.KindOf(e.Err) == storage.Unavailable {
			return storage.RangeResult{}, e.Err
		}
	}
	return res, nil
}

// Put implements storage.Store.
func (s *store) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
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

type cursor struct {
	storage.Cursor
	store *store
}

// Next implements storage.Cursor. A previous value that cannot be read is left out.
func (c *cursor) Next(ctx context.Context) (storage.Batch, error) {
	b, err := c.Cursor.Next(ctx)
	if err != nil || len(b.Events) == 0 {
		return b, err
	}
	events := make([]storage.Event, len(b.Events)) // the engine may share its own among cursors
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
