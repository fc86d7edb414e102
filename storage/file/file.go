// Package file is the storage engine that keeps a folder of YAML files, one per key, which people read, edit and keep
// under version control.
//
// A change made with an editor, or by git, becomes a change of the store: it gets the next revision and is seen by
// watches, as soon as the file system reports it, at the latest when its key is next written. A file that cannot be
// read is reported, and the key keeps its last value and takes no write until the file is mended or removed.
//
// A write replaces the file by renaming a finished one over it, and is then noted, with its revision, in a journal
// (.coracle/journal, docs/format-file.md). Both are synced before the write is acknowledged. The journal is what
// keeps revisions over a restart, tells outside changes made meanwhile, and may be deleted: then revisions begin anew.
//
// The current state and recent history are in a memory engine; reads and watches are its. Writes are one at a time
// and wait for the disk: this engine is for hundreds of objects per second and tens of thousands in all.
// Read: file.go, write.go, outside.go, journal.go, yaml.go, path.go.
package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	stateDir = ".coracle" // in Dir; names that begin with a dot are never keys
	maxFile  = 16 << 20   // bytes; larger files are reported and not read
)

// Config says where the files are.
type Config struct {
	Dir string // created if missing; required
	// MaxValue is the largest accepted key and value together in bytes, default 1.5 MiB.
	MaxValue int
	// Settle is how long a file must be left alone before an outside change is taken in, default 50 ms.
	Settle time.Duration
	// NoSync leaves out fsync. For tests.
	NoSync bool
	// Failed is told about files that cannot be read or written, if set. It must not call the store.
	Failed func(path string, err error)
}

// Store is the file engine. It implements storage.Store.
type Store struct {
	cfg Config
	mem *memory.Store

	// commit is held by whoever changes a file or takes one in, so that files, journal and memory change together.
	// It is held across I/O on purpose: it is the queue of the single writer. Reads do not take it.
	commit struct {
		sync.Mutex
		journal *journal
		known   map[string]known // by key: what the file holds, as far as we know
		leases  map[storage.LeaseID]*lease
		lastID  storage.LeaseID
		closed  bool
	}

	notify  *fsnotify.Watcher
	running sync.WaitGroup // the loop that takes in outside changes; ended by closing notify
	unlock  func() error
}

// known is what was last read from or written to a file.
type known struct {
	hash  uint64
	lease storage.LeaseID
	ends  time.Time // of the lease, zero without
}

var _ storage.Store = (*Store)(nil)

// Open reads all files, gives revisions to those that changed since the journal was written, and begins to watch for
// changes. It fails if another process has the folder open.
func Open(cfg Config) (*Store, error) {
	if cfg.Dir == "" {
		return nil, errors.New("file: no folder")
	}
	if cfg.MaxValue <= 0 {
		cfg.MaxValue = 3 << 19
	}
	if cfg.Settle <= 0 {
		cfg.Settle = 50 * time.Millisecond
	}
	if cfg.Failed == nil {
		cfg.Failed = func(string, error) {}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	cfg.Dir = dir
	state := filepath.Join(dir, stateDir)
	if err := os.MkdirAll(state, 0o755); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	unlock, err := lockFile(filepath.Join(state, "lock"))
	if err != nil {
		return nil, fmt.Errorf("file: %s is in use by another process: %w", dir, err)
	}
	s := &Store{cfg: cfg, unlock: unlock}
	s.commit.known = map[string]known{}
	s.commit.leases = map[storage.LeaseID]*lease{}
	s.commit.Lock() // for the timers of leases, which may end at once
	defer s.commit.Unlock()
	if err := s.loadLocked(state); err != nil {
		s.commit.closed = true
		if s.notify != nil {
			s.notify.Close()
		}
		s.commit.journal.close()
		unlock()
		return nil, fmt.Errorf("file: %w", err)
	}
	s.running.Go(s.takeIn)
	return s, nil
}

// loadLocked fills memory from the journal and the files.
func (s *Store) loadLocked(state string) error {
	// Version control shall not see revisions: they differ from folder to folder.
	ignore := filepath.Join(state, ".gitignore")
	if _, err := os.Stat(ignore); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o644); err != nil {
			return err
		}
	}
	j, notes, err := openJournal(filepath.Join(state, "journal"), !s.cfg.NoSync)
	if err != nil {
		return err
	}
	s.commit.journal = j
	if s.notify, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	files, err := s.scan(s.cfg.Dir)
	if err != nil {
		return err
	}
	// What was changed while nobody looked gets revisions now. Nobody can watch from before: the changes have no
	// events, so memory's history begins behind them.
	var entries []storage.Entry
	rev := max(notes.rev, 1)
	for _, key := range files {
		n, noted := notes.keys[key]
		value, hash, err := s.read(key)
		if err != nil {
			s.cfg.Failed(s.path(key), err)
			continue
		}
		if !noted || n.hash != hash {
			rev++
			n = note{rev: rev, key: key, hash: hash}
			if err := j.add(n); err != nil {
				return err
			}
		}
		entries = append(entries, storage.Entry{Key: key, Value: value, Rev: n.rev})
		s.commit.known[key] = known{hash: hash}
	}
	for key := range notes.keys {
		if _, ok := s.commit.known[key]; !ok {
			rev++
			if err := j.add(note{rev: rev, key: key, deleted: true}); err != nil {
				return err
			}
		}
	}
	s.mem = memory.New(memory.Config{Entries: entries, Rev: rev, MaxValue: maxFile + maxKey})
	s.restoreLeasesLocked(notes)
	return j.rewriteIfLong(s.notes)
}

func (s *Store) path(key string) string { return filepath.Join(s.cfg.Dir, keyPath(key)) }

// notes returns the state as the journal notes it.
func (s *Store) notes() journalState {
	out := journalState{rev: s.mem.Current(), keys: map[string]note{}}
	res, err := s.mem.Range(context.Background(), storage.RangeRequest{})
	if err != nil {
		return out
	}
	for _, e := range res.Entries {
		k := s.commit.known[e.Key]
		out.keys[e.Key] = note{rev: e.Rev, key: e.Key, hash: k.hash, ends: k.ends}
	}
	return out
}

// Get implements storage.Store.
func (s *Store) Get(ctx context.Context, key string) (storage.Entry, error) {
	return s.mem.Get(ctx, key)
}

// Range implements storage.Store.
func (s *Store) Range(ctx context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	return s.mem.Range(ctx, req)
}

// Watch implements storage.Store.
func (s *Store) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	return s.mem.Watch(ctx, req)
}

// Compact implements storage.Store. The history is in memory only.
func (s *Store) Compact(ctx context.Context, rev storage.Revision) error {
	return s.mem.Compact(ctx, rev)
}

// Revision implements storage.Store.
func (s *Store) Revision(ctx context.Context) (storage.Revision, error) { return s.mem.Revision(ctx) }

// Close implements storage.Store.
func (s *Store) Close() error {
	s.commit.Lock()
	if s.commit.closed {
		s.commit.Unlock()
		return nil
	}
	s.commit.closed = true
	for _, l := range s.commit.leases {
		l.timer.Stop()
	}
	s.commit.Unlock()
	s.notify.Close()
	s.running.Wait()
	err := s.commit.journal.close()
	return errors.Join(err, s.mem.Close(), s.unlock())
}
