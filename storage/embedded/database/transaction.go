package database

import (
	"sync"

	"go.etcd.io/etcd/server/v3/storage/backend"
)

// The transactions of a Database. Each goes to the backend of the file that is live when it is
// locked, and those that write report their changes to the copy of that file (recorder), if a copy
// is being made. Package mvcc and etcd's other storage call them through backend.Backend.

// batchTx is the batch transaction of the live file at the time at which it is locked. It reports
// changes to the copy, if one is being made.
type batchTx struct {
	lock sync.Mutex // held with the lock of the backend's transaction
	db   *Database
}

// inner returns the batch transaction of the live file.
func (t *batchTx) inner() backend.BatchTx { return t.db.now.Load().BatchTx() }

// recorder returns the transaction with the reporting of changes. The caller holds the locks.
func (t *batchTx) recorder() recorder {
	f := t.db.now.Load()
	return recorder{f.BatchTx(), f}
}

// Lock implements backend.BatchTx: only tests may call it.
func (t *batchTx) Lock() {
	t.lock.Lock()
	t.inner().Lock()
}

// LockInsideApply implements backend.BatchTx.
func (t *batchTx) LockInsideApply() {
	t.lock.Lock()
	t.inner().LockInsideApply()
}

// LockOutsideApply implements backend.BatchTx.
func (t *batchTx) LockOutsideApply() {
	t.lock.Lock()
	t.inner().LockOutsideApply()
}

// Unlock implements backend.BatchTx.
func (t *batchTx) Unlock() {
	t.inner().Unlock()
	t.lock.Unlock()
}

// Commit implements backend.BatchTx.
func (t *batchTx) Commit() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.inner().Commit()
}

// CommitAndStop implements backend.BatchTx.
func (t *batchTx) CommitAndStop() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.inner().CommitAndStop()
}

// UnsafeCreateBucket implements backend.BatchTx.
func (t *batchTx) UnsafeCreateBucket(b backend.Bucket) { t.recorder().UnsafeCreateBucket(b) }

// UnsafeDeleteBucket implements backend.BatchTx.
func (t *batchTx) UnsafeDeleteBucket(b backend.Bucket) { t.recorder().UnsafeDeleteBucket(b) }

// UnsafePut implements backend.BatchTx.
func (t *batchTx) UnsafePut(b backend.Bucket, key, value []byte) {
	t.recorder().UnsafePut(b, key, value)
}

// UnsafeSeqPut implements backend.BatchTx.
func (t *batchTx) UnsafeSeqPut(b backend.Bucket, key, value []byte) {
	t.recorder().UnsafeSeqPut(b, key, value)
}

// UnsafeDelete implements backend.BatchTx.
func (t *batchTx) UnsafeDelete(b backend.Bucket, key []byte) { t.recorder().UnsafeDelete(b, key) }

// UnsafeRange implements backend.BatchTx.
func (t *batchTx) UnsafeRange(b backend.Bucket, key, end []byte, limit int64) (keys, values [][]byte) {
	return t.inner().UnsafeRange(b, key, end, limit)
}

// UnsafeForEach implements backend.BatchTx.
func (t *batchTx) UnsafeForEach(b backend.Bucket, visit func(k, v []byte) error) error {
	return t.inner().UnsafeForEach(b, visit)
}

// recorder reports to the copy of a file, if one is being made, what a transaction changes.
type recorder struct {
	backend.UnsafeReadWriter
	file *file
}

// UnsafeCreateBucket implements backend.UnsafeWriter.
func (r recorder) UnsafeCreateBucket(b backend.Bucket) {
	r.UnsafeReadWriter.UnsafeCreateBucket(b)
	r.file.copy.addBucket(b)
}

// UnsafeDeleteBucket implements backend.UnsafeWriter.
func (r recorder) UnsafeDeleteBucket(b backend.Bucket) {
	r.UnsafeReadWriter.UnsafeDeleteBucket(b)
	r.file.copy.deleteBucket()
}

// UnsafePut implements backend.UnsafeWriter.
func (r recorder) UnsafePut(b backend.Bucket, key, value []byte) {
	r.UnsafeReadWriter.UnsafePut(b, key, value)
	r.file.copy.change(b, key)
}

// UnsafeSeqPut implements backend.UnsafeWriter.
func (r recorder) UnsafeSeqPut(b backend.Bucket, key, value []byte) {
	r.UnsafeReadWriter.UnsafeSeqPut(b, key, value)
	r.file.copy.change(b, key)
}

// UnsafeDelete implements backend.UnsafeWriter.
func (r recorder) UnsafeDelete(b backend.Bucket, key []byte) {
	r.UnsafeReadWriter.UnsafeDelete(b, key)
	r.file.copy.change(b, key)
}

// readTx is the read transaction of the live file at the time at which it is locked.
type readTx struct{ db *Database }

// inner returns the read transaction of the live file.
func (t *readTx) inner() backend.ReadTx { return t.db.now.Load().ReadTx() }

// RLock implements backend.ReadTx.
func (t *readTx) RLock() {
	t.db.swap.RLock()
	t.inner().RLock()
}

// RUnlock implements backend.ReadTx.
func (t *readTx) RUnlock() {
	t.inner().RUnlock()
	t.db.swap.RUnlock()
}

// UnsafeRange implements backend.ReadTx.
func (t *readTx) UnsafeRange(b backend.Bucket, key, end []byte, limit int64) (keys, values [][]byte) {
	return t.inner().UnsafeRange(b, key, end, limit)
}

// UnsafeForEach implements backend.ReadTx.
func (t *readTx) UnsafeForEach(b backend.Bucket, visit func(k, v []byte) error) error {
	return t.inner().UnsafeForEach(b, visit)
}
