package backing

import (
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/encryption"
)

// Record is what is stored under one prefix of keys: the objects of a resource, or records that are
// no resource.
type Record struct {
	Name    meta.GroupResource // by which it is encrypted and measured
	Backend *Backend           // where it lives
	Prefix  string             // of its keys, ends in "/"

	choice *encryption.Choice // nil: stored as plain text
	series *series
}

// Keys finds records by keys. It is asked on every operation on a store, by many at once.
type Keys interface {
	// Of returns the record that a key belongs to, or a prefix of keys that is not shorter than the
	// record's; nil if there is none.
	Of(key string) *Record
}

// NewRecord returns the record of a resource that lives in b.
func (b *Backend) NewRecord(name meta.GroupResource, prefix string) Record {
	return Record{
		Name:    name,
		Backend: b,
		Prefix:  prefix,
		choice:  b.cfg.Encryption.of(name),
		series:  &series{resource: name},
	}
}

// Chain is how values are encrypted now.
func (r *Record) Chain() encryption.Chain { return r.choice.Chain() }

// Forget deletes what was counted of a record that is gone.
func (r *Record) Forget() {
	s := r.Backend
	s.cfg.Metrics.forget(r.series)
	s.cfg.Encryption.forget(r.Name)
}
