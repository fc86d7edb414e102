package backing

import (
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage/encryption"
)

// Record describes the values under one prefix of keys: the objects of a resource, or records that
// are no resource.
type Record struct {
	Name    meta.GroupResource // for the encryption configuration and metrics
	Backend *Backend           // the backend that stores the values
	Prefix  string             // of the keys; ends in "/"

	choice *encryption.Choice // nil: stored as plain text
	series *series
}

// Keys finds records by keys. Every operation on a store calls it, many at once, so it must be
// quick and take no lock.
type Keys interface {
	// RecordOf returns the record to which a key belongs, nil if there is none. key may also be a
	// prefix of keys that is at least as long as the record's Prefix.
	RecordOf(key string) *Record
}

// NewRecord returns the record of a resource whose objects b stores.
func (b *Backend) NewRecord(name meta.GroupResource, prefix string) Record {
	return Record{
		Name:    name,
		Backend: b,
		Prefix:  prefix,
		choice:  b.cfg.Encryption.choiceOf(name),
		series:  &series{resource: name},
	}
}

// Chain returns the encryption providers of the record at the moment; the first one encrypts.
func (r *Record) Chain() encryption.Chain { return r.choice.Chain() }

// Forget deletes the metrics of a record whose resource has been removed.
func (r *Record) Forget() {
	s := r.Backend
	s.cfg.Metrics.forget(r.series)
	s.cfg.Encryption.forget(r.Name)
}
