// Package embedded is the storage engine that runs an etcd server inside the process, with no socket.
//
// It is one member without peers. Requests are handed to the server's raft log directly and reads and watches to its
// multi-version store; nothing listens, and no gRPC is in between. A write is acknowledged after it has been synced
// to the write-ahead log, together with all others waiting at that moment, and applied; it survives kill -9.
//
// The data directory has etcd's own layout (member/wal, member/snap/db), so that an etcd binary can be started on it,
// and a lock file that keeps a second process out. All of it is below folders of mode 0700, and readable for its owner alone,
// apart from later snapshots: their mode is left to the umask.
//
// Because the only member has applied every write it acknowledged, a plain read of its store is linearizable, and
// Revision is one atomic load.
//
// A full disk would end the process, because the server cannot go on after a commit that failed. So writes are refused while
// there is still room for what the server writes by itself, and reads and watches go on. What fills the disk from one look
// at it to the next (a tenth of a second), beyond what is kept free, is not survived; nor is a user's quota of which the file
// system does not tell.
//
// Only this package may import etcd's server. Not here: what is common with a remote etcd (storage/etcd.Core).
// Read: embedded.go, start.go, seed.go, server.go, commit.go, watch.go, past.go, room.go, make.go, segment.go, disk_linux.go,
// trim_linux.go, log.go.
package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/etcd"
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
	etcd.Core
	server  *etcdserver.EtcdServer
	kv      mvcc.WatchableKV
	lock    *fileutil.LockedFile
	trim    *trimmer
	room    *room
	commits *committer
	closing *atomic.Bool // shared with the logger

	// life is held for reading while the store of the server is read, and for writing to close it.
	life sync.RWMutex

	cursors struct {
		sync.Mutex
		open map[*cursor]struct{}
	}
}

var _ storage.Store = (*Store)(nil)

// Open starts the server and waits until it has applied all that was acknowledged before. It fails at once if
// another process has the directory open.
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
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("embedded: data directory %s is in use by another process: %w", dir, err)
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
	var server *etcdserver.EtcdServer
	if err = claimSegment(dir); err == nil {
		server, err = start(ctx, cfg, log)
	}
	if err == nil {
		if err = born(); err != nil {
			server.HardStop()
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	s := &Store{server: server, kv: server.KV(), lock: lock, closing: closing}
	s.cursors.open = map[*cursor]struct{}{}
	s.Server = local{s}
	s.Saw(storage.Revision(s.kv.Rev()))
	s.trim = newTrimmer(dbPath(dir))
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
	syncDir := func() error {
		if !sync {
			return nil
		}
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		return fileutil.Fsync(d)
	}
	return func() error {
		if err := os.Remove(mark); err != nil {
			return err
		}
		return syncDir()
	}, syncDir()
}

// Revision implements storage.Store. Nobody else writes to this member, so the highest revision it has answered with
// is current: what the end of a lease deletes counts from the first read or event that shows it.
func (s *Store) Revision(context.Context) (storage.Revision, error) {
	if s.IsClosed() {
		return 0, &storage.Error{Op: "revision", Kind: storage.Closed}
	}
	return s.Seen(), nil
}

// Size returns the bytes of the database file, and how many of them are in use.
func (s *Store) Size() (file, used int64) {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.IsClosed() {
		return 0, 0
	}
	be := s.server.Backend()
	return be.Size(), be.SizeInUse()
}

// Close implements storage.Store. It ends the cursors, waits for reads, and stops the server.
func (s *Store) Close() error {
	if !s.Shut() {
		return nil
	}
	s.room.close()
	s.commits.close()
	s.cursors.Lock()
	open := s.cursors.open
	s.cursors.open = nil
	s.cursors.Unlock()
	for c := range open {
		c.Close()
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.closing.Store(true)
	s.server.HardStop()
	leaveSegment(s.room.dir)
	return s.lock.Close()
}
