package database

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// Bounds of what is copied while writers wait, and of what is committed to the copy at once.
const (
	takeKeys  = 500
	takeBytes = 512 << 10
	takeTime  = 5 * time.Millisecond
	stepBytes = 2 << 20

	// It is time to switch if a step that got to the end had no more than this to copy: writers
	// will wait for about as much, and for its commit.
	fewKeys  = 200
	fewBytes = 128 << 10
)

var (
	errBuckets  = errors.New("database: a bucket was created or deleted while the database was copied")
	errCopying  = errors.New("database: there is a copy already")
	errSnapshot = errors.New("database: the snapshots of the backend show no buckets")
)

// lastKey is behind all keys that a database can have.
var lastKey = bytes.Repeat([]byte{0xff}, bolt.MaxKeySize+1)

// Copy is a copy of a database that is to take its place. It is for one goroutine, and ends with
// Switch or Abandon.
type Copy struct {
	db       *Database
	from, to *file
	buckets  []backend.Bucket
	rank     map[backend.BucketID]int // index in buckets
	used     int64                    // of from, at the beginning

	// Guarded by the batch transaction of from. All keys up to the place are in the copy, apart
	// from those in changed.

	place   place
	changed map[place]struct{}
	err     error
}

// place is a key in a bucket, or the place before all keys.
type place struct {
	bucket int
	key    string // "" is before all keys
}

// entry is what a key is to be in the copy.
type entry struct {
	bucket     backend.Bucket
	key, value []byte
	deleted    bool
}

// Copy begins to copy the database into a file that does not exist yet.
func (d *Database) Copy(path string) (*Copy, error) {
	buckets, err := d.buckets()
	if err != nil {
		return nil, err
	}
	c := &Copy{db: d, from: d.now.Load(), buckets: buckets, rank: map[backend.BucketID]int{}, changed: map[place]struct{}{}}
	c.used = c.from.SizeInUse()
	for i, b := range buckets {
		c.rank[b.ID()] = i
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // the backend ends the process if it cannot do that
	if err != nil {
		c.end()
		return nil, fmt.Errorf("database: %w", err)
	}
	f.Close()
	c.to = d.open(path)
	tx := c.to.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	for _, b := range buckets {
		tx.UnsafeCreateBucket(b)
	}
	return c, nil
}

// begin makes the copy known to those who change the database.
func (c *Copy) begin() error {
	c.db.batch.LockOutsideApply()
	defer c.db.batch.Unlock()
	if c.from.copy != nil {
		return errCopying
	}
	c.from.copy = c
	return nil
}

// end undoes begin.
func (c *Copy) end() {
	c.db.batch.LockOutsideApply()
	defer c.db.batch.Unlock()
	c.from.copy = nil
}

// buckets lists the buckets of the database. That of the revisions is the last: it grows at its end
// alone, where it has not been copied.
func (d *Database) buckets() ([]backend.Bucket, error) {
	s := d.Snapshot()
	defer s.Close()
	all, ok := s.(interface {
		ForEach(func(name []byte, b *bolt.Bucket) error) error
	})
	if !ok {
		return nil, errSnapshot
	}
	buckets, others := slices.Clone(schema.AllBuckets), 0
	err := all.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if !slices.ContainsFunc(buckets, func(b backend.Bucket) bool { return bytes.Equal(b.Name(), name) }) {
			others++
			buckets = append(buckets, other{firstOther + backend.BucketID(others), string(name)})
		}
		return nil
	})
	return append(slices.DeleteFunc(buckets, isKey), schema.Key), err
}

// isKey reports whether a bucket is that of the revisions.
func isKey(b backend.Bucket) bool { return b.ID() == schema.Key.ID() }

// other is a bucket that this version of etcd does not know.
type other struct {
	id   backend.BucketID
	name string
}

// firstOther is beyond the IDs of all buckets that etcd knows.
const firstOther = 1 << 20

// ID implements backend.Bucket.
func (o other) ID() backend.BucketID { return o.id }

// Name implements backend.Bucket.
func (o other) Name() []byte { return []byte(o.name) }

// String implements backend.Bucket.
func (o other) String() string { return o.name }

// IsSafeRangeBucket implements backend.Bucket.
func (o other) IsSafeRangeBucket() bool { return false }

// change notes that a key has been changed, if the copy has it already.
func (c *Copy) change(b backend.Bucket, key []byte) {
	if c == nil {
		return
	}
	bucket, ok := c.rank[b.ID()]
	if !ok {
		c.err = errBuckets
	} else if bucket < c.place.bucket || bucket == c.place.bucket && string(key) <= c.place.key {
		c.changed[place{bucket, string(key)}] = struct{}{}
	}
}

// addBucket notes that a bucket has been created, which may have been there before.
func (c *Copy) addBucket(b backend.Bucket) {
	if c == nil {
		return
	}
	if _, ok := c.rank[b.ID()]; !ok {
		c.err = errBuckets
	}
}

// deleteBucket notes that a bucket has been deleted.
func (c *Copy) deleteBucket() {
	if c != nil {
		c.err = errBuckets
	}
}

// Step copies some of what is left, and reports whether it is time to Switch. If alone, writers
// wait until that has been written, and less is copied: so a copy catches up with writers who are
// faster.
func (c *Copy) Step(alone bool) (ready bool, err error) {
	var all []entry
	if alone {
		c.warm()
		c.db.batch.LockOutsideApply()
		defer c.db.batch.Unlock()
		all, ready, err = c.take(nil)
	}
	for !alone && !ready && err == nil && sizeOf(all) < stepBytes {
		c.warm()
		c.db.batch.LockOutsideApply()
		all, ready, err = c.take(all)
		c.db.batch.Unlock()
	}
	if err != nil {
		return false, err
	}
	c.put(all)
	c.to.ForceCommit()
	return ready && len(all) <= fewKeys && sizeOf(all) <= fewBytes, nil
}

// sizeOf returns the bytes of entries.
func sizeOf(entries []entry) (size int) {
	for _, e := range entries {
		size += len(e.key) + len(e.value)
	}
	return size
}

// Chases reports whether more has been copied than there was at the beginning, by some part: the
// copy may never catch up with writers without steps alone.
func (c *Copy) Chases() bool { return c.to.SizeInUse() > c.used+c.used/4 }

// warm reads what take will probably read, so that writers do not wait for the disk meanwhile.
func (c *Copy) warm() {
	if !isKey(c.buckets[c.place.bucket]) {
		return
	}
	tx := c.from.ConcurrentReadTx()
	tx.RLock()
	defer tx.RUnlock()
	keys, values := tx.UnsafeRange(schema.Key, []byte(c.place.key+"\x00"), lastKey, takeKeys)
	size := 0
	for i := range keys {
		if size += len(bytes.Clone(values[i])); size >= takeBytes {
			return
		}
	}
}

// take appends the next entries, and reports whether there are no more at this moment. The caller
// holds the batch transaction.
func (c *Copy) take(to []entry) (_ []entry, end bool, err error) {
	if c.err != nil {
		return nil, false, c.err
	}
	begin, size, tx := len(to), 0, c.from.BatchTx()
	for p := range c.changed {
		if len(to)-begin >= takeKeys || size >= takeBytes {
			return to, false, nil
		}
		e := entry{bucket: c.buckets[p.bucket], key: []byte(p.key), deleted: true}
		if _, values := tx.UnsafeRange(e.bucket, e.key, nil, 1); len(values) > 0 {
			e.value, e.deleted = bytes.Clone(values[0]), false
		}
		size += len(e.key) + len(e.value)
		to = append(to, e)
		delete(c.changed, p)
	}
	for start := time.Now(); ; {
		b := c.buckets[c.place.bucket]
		var from []byte
		if c.place.key != "" {
			from = []byte(c.place.key + "\x00")
		}
		keys, values := tx.UnsafeRange(b, from, lastKey, takeKeys)
		for i, key := range keys {
			if len(to)-begin >= takeKeys || size >= takeBytes || i > 0 && time.Since(start) > takeTime {
				return to, false, nil
			}
			to = append(to, entry{bucket: b, key: bytes.Clone(key), value: bytes.Clone(values[i])})
			size += len(key) + len(values[i])
			c.place.key = string(key)
		}
		if len(keys) == takeKeys {
			return to, false, nil
		}
		if c.place.bucket == len(c.buckets)-1 {
			return to, true, nil
		}
		c.place = place{bucket: c.place.bucket + 1}
	}
}

// put writes entries to the copy.
func (c *Copy) put(entries []entry) {
	tx := c.to.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	for _, e := range entries {
		switch {
		case e.deleted:
			tx.UnsafeDelete(e.bucket, e.key)
		case isKey(e.bucket):
			tx.UnsafeSeqPut(e.bucket, e.key, e.value)
		default:
			tx.UnsafePut(e.bucket, e.key, e.value)
		}
	}
}

// Switch replaces the database by the copy. Writers wait meanwhile. If it fails, the database is
// unchanged and the copy can be abandoned. The caller makes the rename durable.
func (c *Copy) Switch() error {
	d := c.db
	d.batch.LockOutsideApply()
	if err := c.replace(); err != nil {
		d.batch.Unlock()
		return err
	}
	d.batch.lock.Unlock()
	d.ending.Go(func() {
		c.from.BatchTx().Unlock() // commits, perhaps, and nobody waits for that any more
		_ = c.from.Close()        // when the last transaction has ended
	})
	return nil
}

// replace copies the rest, and makes the copy the database. The caller holds the batch transaction,
// which stays locked.
func (c *Copy) replace() error {
	d := c.db
	for end := false; !end; {
		var entries []entry
		var err error
		if entries, end, err = c.take(nil); err != nil {
			return err
		}
		c.put(entries)
	}
	c.to.SetTxPostLockInsideApplyHook(d.hook)
	c.to.setLive(true)
	c.to.ForceCommit()
	if err := os.Rename(c.to.path, c.from.path); err != nil {
		c.to.setLive(false)
		return fmt.Errorf("database: %w", err)
	}
	c.from.live, c.from.copy = false, nil
	c.to.path = c.from.path
	d.swap.Lock()
	defer d.swap.Unlock()
	d.now.Store(c.to)
	return nil
}

// setLive says whether the hooks count for the file.
func (f *file) setLive(live bool) {
	tx := f.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	f.live = live
}

// Abandon ends a copy that has not taken the place of the database.
func (c *Copy) Abandon() error {
	c.end()
	return errors.Join(c.to.Close(), os.Remove(c.to.path))
}
