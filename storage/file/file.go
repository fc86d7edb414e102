// Package file is the storage engine that keeps a folder of YAML files, one per key, which people read, edit and keep
// under version control.
//
// A change made with an editor, or by git, becomes a change of the store: it gets the next revision and is seen by
// watches, as soon as the file system reports it, at the latest when its key is next written. A file that cannot be
// read, or holds what Config.Accept refuses, is reported, and the key keeps its last value and takes no write until the
// file is mended or removed.
//
// The bytes of a value come back from its file as they were put (encode.go). An edit that changes nothing of its meaning,
// such as a comment, is no change of the store.
//
// A write replaces the file by renaming a finished one over it, and is then noted, with its revision, in a journal
// (.coracle/journal, docs/format-file.md); a lease is noted before. All is synced before the write is acknowledged. The
// journal is what keeps revisions and leases over a restart, tells outside changes made meanwhile, and may be deleted:
// then revisions begin anew, and nothing has a lease.
//
// The engine touches nothing outside of the folder and follows no symbolic links in it. What it makes is readable for its
// owner alone.
//
// The current state and recent history are in a memory engine; reads and watches are its. Writes are one at a time
// and wait for the disk: this engine is for hundreds of objects per second and tens of thousands in all.
// Read: file.go, write.go, lease.go, outside.go, refuse.go, review.go, journal.go, folder.go, path.go, encode.go, decode.go.
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

const (
	stateDir    = ".coracle" // in Dir; names that begin with a dot are never keys
	lockName    = stateDir + "/lock"
	journalName = stateDir + "/journal"
	ignoreName  = stateDir + "/.gitignore"
	tmpPrefix   = ".tmp-"  // of unfinished files
	maxFile     = 16 << 20 // bytes; larger files are reported and not read
)

// Config says where the files are.
type Config struct {
	Dir string // created with mode 0700 if missing; required
	// MaxValue is the largest accepted key and value together in bytes, default 1.5 MiB.
	MaxValue int
	// Settle is how long a file must be left alone before an outside change is taken in, default 50 ms.
	Settle time.Duration
	// NoSync leaves out fsync. For tests.
	NoSync bool
	// Accept, if set, judges what is found in a file: at the start, when somebody has changed it, and in Review. It returns the value
	// that the store is to have, and the birth that it has completed that with, if any; or why the file is refused. The file
	// stays as it is in any case. It must not call the store.
	Accept func(Found) (value []byte, birth Birth, err error)
	// Failed, if set, is told about each file that is refused, or cannot be read or written: once for each change of the
	// file or the cause, and with nil when it is all right again or gone. It must not call the store.
	Failed func(path string, err error)
}

// Found is what is in the file of a key.
type Found struct {
	Key      string
	Value    []byte
	Old      []byte // what the store has had there, nil if nothing or not known
	Birth    Birth  // the last that Accept has returned for the key, since the key is there
	Modified time.Time
}

// Birth is what somebody who makes a file does not write into it: which value it is of all that its key has had or will
// have, and since when it is there. It is kept with the key for as long as that has a file.
type Birth struct {
	ID string // not empty
	At time.Time
}

// Store is the file engine. It implements storage.Store.
type Store struct {
	cfg  Config
	root *os.Root // of cfg.Dir
	mem  *memory.Store

	// commit is held by whoever changes a file or takes one in, so that files, journal and memory change together.
	// It is held across I/O on purpose: it is the queue of the single writer. Reads do not take it.
	commit struct {
		sync.Mutex
		journal *journal
		known   map[string]known // by key: what the file holds, as far as we know
		births  map[string]Birth // by key
		leases  map[storage.LeaseID]*lease
		lastID  storage.LeaseID
		closed  bool
	}

	refused refusals

	notify  *fsnotify.Watcher
	running sync.WaitGroup // the loop that takes in outside changes; ended by closing notify
	unlock  func() error
}

// known is what was last read from or written to a file.
type known struct {
	content uint64 // checksum of the file, by which it is known again without reading it as YAML
	hash    uint64 // digest of the value
	lease   storage.LeaseID
	ends    time.Time // of the lease, zero without
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
	if cfg.Accept == nil {
		cfg.Accept = func(f Found) ([]byte, Birth, error) { return f.Value, Birth{}, nil }
	}
	if cfg.Failed == nil {
		cfg.Failed = func(string, error) {}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	cfg.Dir = dir
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	s := &Store{cfg: cfg, root: root, refused: refusals{dir: dir, failed: cfg.Failed}}
	if err := s.open(); err != nil {
		root.Close()
		return nil, fmt.Errorf("file: %w", err)
	}
	return s, nil
}

// open takes the lock, loads what there is and begins to watch.
func (s *Store) open() error {
	if err := s.root.Mkdir(stateDir, dirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	unlock, err := lockFile(s.root, lockName)
	if err != nil {
		return fmt.Errorf("%s is in use by another process: %w", s.cfg.Dir, err)
	}
	s.unlock = unlock
	s.commit.known = map[string]known{}
	s.commit.leases = map[storage.LeaseID]*lease{}
	s.refused.mu.files = map[string]refusal{}
	s.commit.Lock() // for the timers of leases, which may end at once
	defer s.commit.Unlock()
	if err := s.loadLocked(); err != nil {
		s.commit.closed = true
		if s.notify != nil {
			s.notify.Close()
		}
		s.commit.journal.close()
		unlock()
		return err
	}
	s.running.Go(s.takeIn)
	return nil
}

// loadLocked fills memory from the journal and the files.
func (s *Store) loadLocked() error {
	if err := s.ignoreState(); err != nil {
		return err
	}
	j, notes, err := openJournal(s.root, !s.cfg.NoSync)
	if err != nil {
		return err
	}
	s.commit.journal, s.commit.births = j, notes.births
	if err := s.syncDir(s.root); err != nil {
		return err
	}
	if s.notify, err = fsnotify.NewWatcher(); err != nil {
		return err
	}
	keys := s.scan(".")
	// What was changed while nobody looked gets revisions now. Nobody can watch from before: the changes have no
	// events, so memory's history begins behind them.
	var entries []storage.Entry
	rev := max(notes.rev, 1)
	for _, key := range keys {
		value, k, ok := s.loadFileLocked(key, rev)
		if !ok {
			continue
		}
		n, noted := notes.keys[key]
		if !noted || n.hash != k.hash {
			rev++
			n = note{rev: rev, op: opPut, key: key, hash: k.hash}
			if l := notes.leases[key]; l.hash == k.hash { // a write that was not finished, and not an edit
				n.ends = l.ends
			}
			if err := j.add(n); err != nil {
				return err
			}
		}
		entries = append(entries, storage.Entry{Key: key, Value: value, Rev: n.rev})
		k.ends = n.ends
		s.commit.known[key] = k
	}
	for key := range notes.keys {
		if _, ok := s.commit.known[key]; ok {
			continue
		}
		if _, _, err := s.read(keyPath(key)); !errors.Is(err, fs.ErrNotExist) { // refused, or behind a folder that cannot be read
			continue
		}
		rev++
		if err := j.add(note{rev: rev, op: opDelete, key: key}); err != nil {
			return err
		}
		delete(s.commit.births, key)
	}
	s.mem = memory.New(memory.Config{Entries: entries, Rev: rev, MaxValue: maxFile + maxKey})
	s.restoreLeasesLocked()
	return j.rewriteIfLong(s.notes)
}

// loadFileLocked returns the value in the file of a key, and what is known of it but the lease; ok is false if the file is
// refused.
func (s *Store) loadFileLocked(key string, rev storage.Revision) (value []byte, k known, ok bool) {
	content, modified, err := readFile(s.root, keyPath(key)) // scan has just been there, and followed no link
	if err == nil {
		k.content = checksum(content)
		value, err = decode(content)
	}
	if err == nil {
		k.hash = digest(value)
		value, err = s.acceptLocked(Found{Key: key, Value: value, Modified: modified}, rev)
	}
	s.refused.tell(keyPath(key), k.content, err)
	return value, k, err == nil
}

// ignoreState keeps revisions out of version control: they differ from folder to folder.
func (s *Store) ignoreState() error {
	f, err := s.root.OpenFile(ignoreName, os.O_CREATE|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	if info, serr := f.Stat(); serr == nil && info.Size() == 0 {
		_, err = f.WriteString("*\n")
	}
	return errors.Join(err, f.Close())
}

// notes returns the state as the journal notes it.
func (s *Store) notes() journalState {
	out := newJournalState()
	out.rev, out.births = s.mem.Current(), s.commit.births
	res, err := s.mem.Range(context.Background(), storage.RangeRequest{})
	if err != nil {
		return out
	}
	for _, e := range res.Entries {
		k := s.commit.known[e.Key]
		out.keys[e.Key] = note{rev: e.Rev, op: opPut, key: e.Key, hash: k.hash, ends: k.ends}
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
	return errors.Join(err, s.mem.Close(), s.unlock(), s.root.Close())
}
