// Package embedded is the storage engine that is an etcd member inside the process: etcd's own storage without its server.
//
// It is one member without peers, over etcd's write-ahead log, database and multi-version store. Nobody has to agree with it,
// so there is no raft, no clock and no goroutine for it: who writes appends to the log what all who wait at that moment want
// to write, syncs it once, applies it to the store, and tells the watches. A write is acknowledged after that, and nobody sees
// it before the log has been synced; it survives kill -9.
//
// The data directory has etcd's own layout and contents (member/wal, member/snap/db): an etcd binary can be started on it, and
// what a single etcd has left can be opened here. A lock file keeps a second process out. All of it is below folders of
// mode 0700, and readable for its owner alone.
//
// Because the only member has applied every write it acknowledged, a plain read of its store is linearizable, and
// Revision is one atomic load.
//
// When the log cannot be written, what was to be written is in doubt, and every later write is refused until a restart, because
// it is not known what the disk has of it. Reads and watches go on. It is the same after a panic in the middle of a write.
//
// A full disk would end the process, because the backend cannot go on after a commit that failed. So writes are refused while
// there is still room for what the member writes by itself, and reads and watches go on. What fills the disk from one look
// at it to the next (a tenth of a second), beyond what is kept free, is not survived; nor is a user's quota of which the file
// system does not tell.
//
// Locks are taken in this order: Store.copying, room, Store.life, member.snapshots, trimmer.busy,
// those of mvcc and its backend, member.logging. Under mu of feed and of member nothing else is
// locked.
//
// Only this package may import etcd's server. Read: embedded.go, member.go, message.go, apply.go,
// write.go, read.go; feed.go, watch.go, past.go; lock.go, start.go, replay.go, seed.go,
// snapshot.go, segment.go; commit.go, lease.go; room.go, make.go, defragment.go (over package
// database), disk_linux.go, trim_linux.go; log.go.
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

// Config says where the data is. The zero value apart from Dir is ready to use.
type Config struct {
	Dir string // created with mode 0700 if missing; required
	// MaxRequest is the largest accepted key and value together in bytes, default 1.5 MiB like etcd.
	MaxRequest int
	// Quota is the size of the database file in bytes above which writes fail until there is room again (see room), as
	// they do when the disk has too little; default 8 GiB.
	Quota int64
	// Logger receives warnings and errors, default none.
	Logger *zap.Logger
	// NoSync leaves out fsync: quicker, and a crash of the machine may lose or corrupt everything. For tests.
	NoSync bool
}

// Store is the embedded engine. It implements storage.Store.
type Store struct {
	member     *member
	lock       *fileutil.LockedFile
	room       *room
	commits    *committer
	maxRequest int64
	copying    chan struct{} // capacity 1, and full while the database is copied
	closed     atomic.Bool
	closing    *atomic.Bool // shared with the logger

	// life is held for reading while the member is used, and for writing to close it.
	life sync.RWMutex
}

var _ storage.Store = (*Store)(nil)

// Open starts the member, which applies all that was acknowledged before. It fails soon if another
// process has the directory open.
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
	born, err := birth(dir, !cfg.NoSync)
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

// birth prepares for a first start, and cleans up after one that did not end well: a member that dies before it has
// written its first log entries can never start again. The mark "unborn" lies in the directory from before the first
// start until Open has succeeded once; as long as it is there, nothing has been acknowledged, and what there is can be
// thrown away. born removes the mark.
func birth(dir string, sync bool) (born func() error, err error) {
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

// enter begins the use of the member, which life.RUnlock ends, or fails with Closed.
func (s *Store) enter(op, key string) error {
	s.life.RLock()
	if s.closed.Load() {
		s.life.RUnlock()
		return closedError(op, key)
	}
	return nil
}

func closedError(op, key string) error { return &storage.Error{Op: op, Key: key, Kind: storage.Closed} }

// Revision implements storage.Store. Nobody else writes to this member, so the highest revision it has answered with
// is current: what the end of a lease deletes counts from the first read or event that shows it.
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

// Close implements storage.Store. It ends the cursors, waits for reads and writes, and stops the member.
func (s *Store) Close() error {
	if !s.closed.CompareAndSwap(false, true) {
		return nil
	}
	s.room.close()
	s.commits.close()
	s.member.feed.close()
	s.copying <- struct{}{} // who copies sees that the store is closed
	<-s.copying
	s.life.Lock()
	defer s.life.Unlock()
	s.closing.Store(true)
	err := s.member.close()
	leaveSegment(s.member.dir)
	return errors.Join(err, s.lock.Close())
}
