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

// A Copy, from its beginning to the switch. Database.Copy begins one, Step copies more, and Switch
// puts it in place or Abandon drops it. Transactions tell it what they change (change, addBucket,
// deleteBucket; see recorder in transaction.go). storage/embedded drives it in defragment.go.

// These bound what is copied while writers wait (take), and what is committed to the copy at once
// (stepBytes).
const (
	takeKeys  = 500
	takeBytes = 512 << 10
	takeTime  = 5 * time.Millisecond
	stepBytes = 2 << 20

	// It is time to switch when a step reaches the end and has copied at most this much. During the
	// switch, writers wait until about as much has been copied and committed.
	fewKeys  = 200
	fewBytes = 128 << 10
)

var (
	errBuckets  = errors.New("database: a bucket was created or deleted while the database was copied")
	errCopying  = errors.New("database: there is a copy already")
	errSnapshot = errors.New("database: the snapshots of the backend show no buckets")
)

// lastKey is greater than all keys that a database can have.
var lastKey = bytes.Repeat([]byte{0xff}, bolt.MaxKeySize+1)

// Copy is a copy of a database that is about to replace it. One goroutine at a time uses it. Switch
// or Abandon ends it.
type Copy struct {
	db       *Database
	from, to *file
	buckets  []backend.Bucket
	rank     map[backend.BucketID]int // index in buckets
	used     int64                    // bytes in use in from, at the beginning

	// Guarded by the batch transaction of from. The copy has all keys up to position as they are,
	// except those in changed.

	position position
	changed  map[position]struct{}
	err      error
}

// position is the place of a key in the order of buckets and keys, or the position before all keys
// of a bucket.
type position struct {
	bucket int
	key    string // "" is before all keys
}

// entry is a key and its value, or its deletion, to be written to the copy.
type entry struct {
	bucket     backend.Bucket
	key, value []byte
	deleted    bool
}

// Copy begins to copy the database into a file at path, which it makes empty. It copies no keys;
// Step does that. There is one copy at a time: another one is errCopying.
func (d *Database) Copy(path string) (*Copy, error) {
	buckets, err := d.buckets()
	if err != nil {
		return nil, err
	}
	c := &Copy{db: d, from: d.now.Load(), buckets: buckets, rank: map[backend.BucketID]int{},
		changed: map[position]struct{}{}}
	c.used = c.from.SizeInUse()
	for i, b := range buckets {
		c.rank[b.ID()] = i
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	// The file is created here, because the backend ends the process if it cannot create it.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
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

// begin lets transactions report their changes to the copy.
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

// buckets lists the buckets of the database. The bucket of revisions is the last: it grows only at
// its end, which has not been copied yet.
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

// isKey reports whether b is the bucket of the revisions, which etcd calls key.
func isKey(b backend.Bucket) bool { return b.ID() == schema.Key.ID() }

// other is a bucket that this version of etcd does not have.
type other struct {
	id   backend.BucketID
	name string
}

// firstOther is greater than the IDs of all buckets of etcd.
const firstOther = 1 << 20

// ID implements backend.Bucket.
func (o other) ID() backend.BucketID { return o.id }

// Name implements backend.Bucket.
func (o other) Name() []byte { return []byte(o.name) }

// String implements backend.Bucket.
func (o other) String() string { return o.name }

// IsSafeRangeBucket implements backend.Bucket.
func (o other) IsSafeRangeBucket() bool { return false }

// change notes that a key has been changed, if it has been copied already. c may be nil: there is
// no copy.
func (c *Copy) change(b backend.Bucket, key []byte) {
	if c == nil {
		return
	}
	bucket, ok := c.rank[b.ID()]
	if !ok {
		c.err = errBuckets
	} else if bucket < c.position.bucket || bucket == c.position.bucket && string(key) <= c.position.key {
		c.changed[position{bucket, string(key)}] = struct{}{}
	}
}

// addBucket notes that a bucket may have been created. A bucket that the copy does not have makes
// the copy fail.
func (c *Copy) addBucket(b backend.Bucket) {
	if c == nil {
		return
	}
	if _, ok := c.rank[b.ID()]; !ok {
		c.err = errBuckets
	}
}

// deleteBucket notes that a bucket has been deleted, which makes the copy fail.
func (c *Copy) deleteBucket() {
	if c != nil {
		c.err = errBuckets
	}
}

// Step copies some of the rest, and reports whether it is time to Switch. If alone is set, writers
// wait until the step has been written, and the step is smaller. So a copy catches up even with
// writers that change more than a step copies.
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

// Chases reports whether the copy has grown to a quarter more than the database was at the
// beginning. Then it may never catch up with the writers unless Step is called with alone.
func (c *Copy) Chases() bool { return c.to.SizeInUse() > c.used+c.used/4 }

// warm reads the keys that take will probably read, so that take does not wait for the disk while
// it holds up writers.
func (c *Copy) warm() {
	if !isKey(c.buckets[c.position.bucket]) {
		return
	}
	tx := c.from.ConcurrentReadTx()
	tx.RLock()
	defer tx.RUnlock()
	keys, values := tx.UnsafeRange(schema.Key, []byte(c.position.key+"\x00"), lastKey, takeKeys)
	size := 0
	for i := range keys {
		if size += len(bytes.Clone(values[i])); size >= takeBytes {
			return
		}
	}
}

// take appends the next entries, changed keys first, and reports whether there are no more at this
// moment. The caller holds the batch transaction.
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
		b := c.buckets[c.position.bucket]
		var from []byte
		if c.position.key != "" {
			from = []byte(c.position.key + "\x00")
		}
		keys, values := tx.UnsafeRange(b, from, lastKey, takeKeys)
		for i, key := range keys {
			if len(to)-begin >= takeKeys || size >= takeBytes || i > 0 && time.Since(start) > takeTime {
				return to, false, nil
			}
			to = append(to, entry{bucket: b, key: bytes.Clone(key), value: bytes.Clone(values[i])})
			size += len(key) + len(values[i])
			c.position.key = string(key)
		}
		if len(keys) == takeKeys {
			return to, false, nil
		}
		if c.position.bucket == len(c.buckets)-1 {
			return to, true, nil
		}
		c.position = position{bucket: c.position.bucket + 1}
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

// Switch replaces the database by the copy, while writers wait. If it fails, the database is
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
		c.from.BatchTx().Unlock() // may commit; no writer waits for it
		_ = c.from.Close()        // waits for the last transaction
	})
	return nil
}

// replace copies the rest and makes the copy the database. The caller holds the batch transaction,
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

// setLive sets whether commits of the file call the hooks.
func (f *file) setLive(live bool) {
	tx := f.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	f.live = live
}

// Abandon ends a copy that has not replaced the database, and removes its file.
func (c *Copy) Abandon() error {
	c.end()
	return errors.Join(c.to.Close(), os.Remove(c.to.path))
}
