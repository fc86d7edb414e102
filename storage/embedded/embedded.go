// Package embedded is the storage engine that is an etcd member inside the process: etcd's own
// storage without its server.
//
// Words: the member is the one member of the cluster. The log is etcd's write-ahead log, in
// segments. The database is etcd's bbolt file, and the backend writes it. A commit brings the
// backend's changes to the database. A snapshot says up to which log entry the database is
// complete. A request is one change on its way; the leader is the goroutine that writes a batch of
// requests. The room is the free space of quota and disk. The feed shows applied changes to the
// cursors. The trimmer keeps the mapped database out of the resident memory of the process.
//
// There are no peers with which to agree, so there is no raft, no clock and no goroutine for
// writes. A writer that becomes leader appends the requests of all writers that wait at that moment
// to the log, syncs it once, applies them to the store, and shows them to the cursors.
//
// Laws:
//   - A write is acknowledged after it has been synced, applied and shown to the cursors. No reader
//     sees it before the log has been synced. It survives kill -9.
//   - The data directory has etcd's layout and contents (member/wal, member/snap/db): an etcd
//     binary can be started on it, and the data of a single etcd can be opened here. A lock file
//     keeps a second process out. All of it is below folders of mode 0700.
//   - The only member has applied every write it acknowledged. So a plain read of its store is
//     linearizable, and Revision is one atomic load.
//   - If the log cannot be written, the writes of that batch are InDoubt, because it is unknown how
//     much of the batch is on the disk, and every later write is refused until a restart. Reads and
//     watches go on. The same holds after a panic in the middle of a write.
//   - Writes are refused before the disk is full, while there is still room for what the member
//     writes by itself, because the backend ends the process when a commit fails. Reads and watches
//     go on. Two cases are not covered: another process that fills the reserve between two looks at
//     the disk (a tenth of a second), and a user's quota that the file system does not report.
//
// Locks are taken in this order: Store.copying, room, Store.life, member.snapshots, trimmer.busy,
// those of mvcc and its backend, member.logging. No other lock is taken while feed.mu or member.mu
// is held.
//
// Goroutines: two of the committer, one of the room, and etcd's own. Close ends all of them. All
// methods of Store may be called at once.
//
// Not here: reaching a remote etcd (storage/etcd), replacing the database file (package database),
// when to compact (storage). Only this package and those below it may import etcd's server.
//
// Read: embedded.go, member.go, message.go, apply.go, write.go, read.go; feed.go, watch.go,
// past.go; lock.go, start.go, replay.go, seed.go, snapshot.go, segment.go; commit.go, lease.go;
// room.go, make.go, defragment.go (over package database), disk_linux.go, trim_linux.go; log.go.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
)

// Config says where the data is and how large it may become. Only Dir is required.
type Config struct {
	Dir string // data directory, created with mode 0700 if missing; required
	// MaxRequest is the largest size of a key and its value together, in bytes, default 1.5 MiB as
	// in etcd.
	MaxRequest int
	// Quota is the size of the database file in bytes at which writes are refused until there is
	// room again, default 8 GiB. Writes are refused as well while the disk has too little room.
	Quota int64
	// Logger receives warnings and errors, default none.
	Logger *zap.Logger
	// NoSync leaves out fsync. It is faster, and a crash of the machine may lose or corrupt all
	// data. It is for tests.
	NoSync bool
}

// Store is the embedded engine. It implements storage.Store.
type Store struct {
	member     *member
	lock       *fileutil.LockedFile
	room       *room
	commits    *committer
	maxRequest int64
	copying    chan struct{} // capacity 1; full while the database is copied
	closed     atomic.Bool
	closing    *atomic.Bool // Close has stopped the loops; shared with the logger

	// life is read-locked while the member is used, and locked to close it.
	life sync.RWMutex
}

var _ storage.Store = (*Store)(nil)

// Open starts the member, which applies every acknowledged write that its database lacks. It fails
// within about two seconds if another process has the directory open. ctx bounds only Open. Close
// the Store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Dir == "" {
		return nil, fmt.Errorf("embedded: no data directory")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	lock, err := lockDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("embedded: %s: %w", dir, err)
	}
	cfg.Dir = dir
	if cfg.MaxRequest <= 0 {
		cfg.MaxRequest = 3 << 19
	}
	if cfg.Quota <= 0 {
		cfg.Quota = 8 << 30
	}
	closing := new(atomic.Bool)
	born, err := prepareFirst(dir, !cfg.NoSync)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	log := newLogger(cfg.Logger, closing)
	var m *member
	if err = claimSegment(dir); err == nil {
		if m, err = start(ctx, cfg, log); err == nil {
			if err = born(); err != nil {
				m.close()
			}
		}
		if err != nil {
			leaveSegment(dir)
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s := &Store{member: m, lock: lock, closing: closing, maxRequest: int64(cfg.MaxRequest),
		copying: make(chan struct{}, 1)}
	s.commits = newCommitter(s)
	s.room = newRoom(s, dir, cfg.Quota, log)
	s.room.open() // last: its loop may write
	return s, nil
}

// prepareFirst prepares a first start, and cleans up after a first start that failed: a member that
// dies before its first log entries are written can never start again. The file "unborn" lies in
// the directory from before the first start until Open has succeeded once. As long as the file is
// there, no write has been acknowledged, and the member's data can be deleted. born, which the
// caller calls after the start, removes the file.
func prepareFirst(dir string, sync bool) (born func() error, err error) {
	mark, member := filepath.Join(dir, "unborn"), filepath.Join(dir, "member")
	if _, err := os.Stat(mark); err == nil {
		if err := os.RemoveAll(member); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(member); err == nil {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(mark, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	durable := func() error {
		if !sync {
			return nil
		}
		return syncDir(dir)
	}
	return func() error {
		if err := os.Remove(mark); err != nil {
			return err
		}
		return durable()
	}, durable()
}

// enter begins a use of the member, or fails with Closed. life.RUnlock ends the use.
func (s *Store) enter(op, key string) error {
	s.life.RLock()
	if s.closed.Load() {
		s.life.RUnlock()
		return closedError(op, key)
	}
	return nil
}

// closedError is the error of every operation after Close.
func closedError(op, key string) error { return &storage.Error{Op: op, Key: key, Kind: storage.Closed} }

// Revision implements storage.Store. Only this process writes to the member, so the highest
// revision that any answer has shown is current. Deletions at the end of a lease count from the
// first read or event that shows them.
func (s *Store) Revision(context.Context) (storage.Revision, error) {
	if s.closed.Load() {
		return 0, closedError("revision", "")
	}
	return storage.Revision(s.member.feed.seen.Load()), nil
}

// Size implements storage.Sized.
func (s *Store) Size() (file, used int64) {
	if s.enter("size", "") != nil {
		return 0, 0
	}
	defer s.life.RUnlock()
	return s.member.be.Size(), s.member.be.SizeInUse()
}

// Close implements storage.Store. It ends the cursors, waits for reads and writes, and stops the
// member.
func (s *Store) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	s.room.close()
	s.commits.close()
	s.member.feed.close()
	s.copying <- struct{}{} // a copy under way sees that the store is closed, and ends
	<-s.copying
	s.life.Lock()
	defer s.life.Unlock()
	s.closing.Store(true)
	err := s.member.close()
	leaveSegment(s.member.dir)
	return errors.Join(err, s.lock.Close())
}
