// Package database is etcd's backend over a file that can be replaced by a smaller one while it is
// in use.
//
// Words: the live file is the database at the moment. A Copy is another file, without free pages,
// that is about to replace it. A position is a place in the order of buckets and keys.
//
// A database file never shrinks: its free pages are only used again. A Copy is made in steps,
// between which reads and writes go on. Each step copies the next keys, and copies again those
// earlier keys that have been changed since they were copied. When little is left, Switch copies
// the rest while writers wait, and renames the file of the copy.
//
// Laws:
//   - At each moment one of the two files is the whole database, up to its last commit.
//   - A read or write after Switch sees everything that was written before it.
//   - A transaction that began before Switch continues on the old file, which is closed when the
//     last of them has ended.
//
// A Database may be used by many goroutines as etcd's backend may; a Copy by one at a time.
// Not here: when to copy, and how much room that takes (storage/embedded).
//
// Locks are taken in this order: batchTx, the batch transaction of the backend, Database.swap,
// those of the backend.
//
// Read: database.go, transaction.go, copy.go, rewrite.go.
package database

import (
	"errors"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

// Database is a backend of etcd whose file can be replaced.
type Database struct {
	config backend.BackendConfig
	hooks  backend.Hooks
	after  func() // called after each ForceCommit

	// now is the live file. It is replaced while batch and swap are held, and read under one of
	// them, or under none if only a number is wanted.
	now  atomic.Pointer[file]
	swap sync.RWMutex

	batch batchTx
	read  readTx
	hook  func() // guarded by batch

	ending sync.WaitGroup // backends that have been replaced
}

var _ backend.Backend = (*Database)(nil)

// file is the backend of one file.
type file struct {
	backend.Backend
	path string // as it was opened, or after Switch the database's

	// Guarded by the batch transaction of the backend.

	live bool  // the file is the database: its commits call the hooks
	copy *Copy // the copy that is being made of the file, or nil
}

// Open opens the database of a configuration, or makes one, with all buckets of etcd. It calls
// after after each ForceCommit.
func Open(config backend.BackendConfig, after func()) *Database {
	d := &Database{config: config, hooks: config.Hooks, after: after}
	d.batch.db, d.read.db = d, d
	f := d.open(config.Path)
	tx := f.BatchTx()
	tx.LockOutsideApply()
	defer tx.Unlock()
	for _, b := range schema.AllBuckets {
		tx.UnsafeCreateBucket(b)
	}
	f.live = true
	d.now.Store(f)
	return d
}

// open opens the backend of a file that is not the live one.
func (d *Database) open(path string) *file {
	f := &file{path: path}
	config := d.config
	config.Path = path
	config.Hooks = backend.NewHooks(func(tx backend.UnsafeReadWriter) {
		if f.live && d.hooks != nil {
			d.hooks.OnPreCommitUnsafe(recorder{tx, f})
		}
	})
	f.Backend = backend.New(config)
	return f
}

// ReadTx implements backend.Backend.
func (d *Database) ReadTx() backend.ReadTx { return &d.read }

// BatchTx implements backend.Backend.
func (d *Database) BatchTx() backend.BatchTx { return &d.batch }

// ConcurrentReadTx implements backend.Backend.
func (d *Database) ConcurrentReadTx() backend.ReadTx {
	d.swap.RLock()
	defer d.swap.RUnlock()
	return d.now.Load().ConcurrentReadTx()
}

// Snapshot implements backend.Backend.
func (d *Database) Snapshot() backend.Snapshot {
	d.swap.RLock()
	defer d.swap.RUnlock()
	return d.now.Load().Snapshot()
}

// Hash implements backend.Backend.
func (d *Database) Hash(ignores func(bucket, key []byte) bool) (uint32, error) {
	d.swap.RLock()
	defer d.swap.RUnlock()
	return d.now.Load().Hash(ignores)
}

// Size implements backend.Backend.
func (d *Database) Size() int64 { return d.now.Load().Size() }

// SizeInUse implements backend.Backend.
func (d *Database) SizeInUse() int64 { return d.now.Load().SizeInUse() }

// OpenReadTxN implements backend.Backend.
func (d *Database) OpenReadTxN() int64 { return d.now.Load().OpenReadTxN() }

// ForceCommit implements backend.Backend, and calls the function given to Open.
func (d *Database) ForceCommit() {
	d.batch.Commit()
	d.after()
}

// Defrag implements backend.Backend. It makes a Copy without pauses and switches to it.
func (d *Database) Defrag() error {
	c, err := d.Copy(d.config.Path + ".tmp")
	for ready := false; err == nil && !ready; {
		ready, err = c.Step(false)
	}
	if err == nil {
		err = c.Switch()
	}
	if err != nil && c != nil {
		err = errors.Join(err, c.Abandon())
	}
	return err
}

// SetTxPostLockInsideApplyHook implements backend.Backend.
func (d *Database) SetTxPostLockInsideApplyHook(hook func()) {
	d.batch.lock.Lock()
	defer d.batch.lock.Unlock()
	d.hook = hook
	d.now.Load().SetTxPostLockInsideApplyHook(hook)
}

// Close implements backend.Backend. It waits for the transactions. No Copy may be begun afterwards.
func (d *Database) Close() error {
	err := d.now.Load().Close()
	d.ending.Wait()
	return err
}
