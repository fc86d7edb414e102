// Package file is the storage engine that keeps a folder of YAML files, one per key, which people
// read, edit and keep under version control.
//
// Words: the folder is Config.Dir. The journal is the file with the revisions of all keys
// (.coracle/journal, docs/format-file.md); a note is one of its lines. An outside change is a
// change of a file by another program. A file is refused if it cannot be read or Config.Accept
// returns an error. A Birth is the identity and age that Accept adds to a value.
//
// Laws:
//   - An outside change, made with an editor or by git, becomes a change of the store: it gets the
//     next revision, and watches see it. That happens as soon as the file system reports it, and at
//     the latest when its key is next written.
//   - A refused file is reported. Its key keeps its last value, and accepts no write until the file
//     is mended or removed.
//   - The bytes of a value are read back from its file as they were put (encode.go). An edit that
//     does not change the meaning, such as a comment, is no change of the store.
//   - A write renames a finished file over the old one, and is then noted in the journal with its
//     revision. A lease is noted before. All of it is synced before the write is acknowledged.
//   - The journal keeps revisions and leases over a restart, and shows which files have been
//     changed meanwhile. It may be deleted: then revisions begin anew, and no key has a lease.
//   - The engine touches nothing outside the folder and follows no symbolic links in it. Files that
//     it makes are readable only by their owner.
//
// The current state and recent history are in a memory engine, which serves reads and watches.
// Writes happen one at a time and wait for the disk: this engine is for hundreds of objects per
// second and tens of thousands in all. Store.commit is taken before the locks of refusals and of
// the memory engine. One goroutine takes in outside changes; Close waits for it. All methods may be
// called at once.
//
// Not here: what makes a value acceptable (Config.Accept).
//
// Read: file.go, write.go, lease.go, outside.go, refuse.go, review.go, journal.go, folder.go,
// path.go, encode.go, decode.go.
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
	stateDir    = ".coracle" // in the folder; names that begin with a dot are never keys
	lockName    = stateDir + "/lock"
	journalName = stateDir + "/journal"
	ignoreName  = stateDir + "/.gitignore"
	tmpPrefix   = ".tmp-"  // begins the names of unfinished files
	maxFile     = 16 << 20 // bytes; larger files are reported and not read
)

// Config says where the files are and which are accepted. Only Dir is required.
type Config struct {
	Dir string // the folder, created with mode 0700 if missing; required
	// MaxValue is the largest size of a key and its value together, in bytes, default 1.5 MiB.
	MaxValue int
	// Settle is how long outside changes must have paused before they are taken in, default 50 ms.
	// After ten times Settle they are taken in anyway.
	Settle time.Duration
	// NoSync leaves out fsync: a crash of the machine may lose acknowledged writes. It is for
	// tests.
	NoSync bool
	// Accept, if set, decides on the content of a file: at the start, after an outside change, and
	// in Review. It returns the value that the store gets, and the Birth with which it has
	// completed the value, if any; or the error with which the file is refused. The file itself
	// does not change. Accept must not call the store.
	Accept func(Found) (value []byte, birth Birth, err error)
	// Failed, if set, is called for each file that is refused, or cannot be read or written: once
	// for each change of the file or the cause, and with a nil error when the file is in order
	// again or gone. It must not call the store.
	Failed func(path string, err error)
}

// Found is the content of a key's file, as Accept gets it.
type Found struct {
	Key      string
	Value    []byte
	Old      []byte    // the store's value of the key, nil if there is none or it is unknown
	Birth    Birth     // the last Birth that Accept has returned for the key since it exists
	Modified time.Time // when the file was last changed
}

// Birth is what a person who makes a file does not write into it: a unique ID of the object, and
// its time of creation (metadata.uid and metadata.creationTimestamp). The journal keeps it for as
// long as the key has a file.
type Birth struct {
	ID string // not empty
	At time.Time
}

// Store is the file engine. It implements storage.Store.
type Store struct {
	cfg  Config
	root *os.Root      // of cfg.Dir
	mem  *memory.Store // current state and recent history

	// commit is held to change a file or to take one in, so that files, journal and memory change
	// together. It is held across I/O on purpose: it is the queue of the single writer. Reads do
	// not take it.
	commit struct {
		sync.Mutex
		journal *journal
		records map[string]fileRecord // by key: the file as it was last read or written
		births  map[string]Birth      // by key
		leases  map[storage.LeaseID]*lease
		lastID  storage.LeaseID
		closed  bool
	}

	refused refusals

	notify  *fsnotify.Watcher
	running sync.WaitGroup // the loop that takes in outside changes; ended by closing notify
	unlock  func() error
}

// fileRecord is what was last read from or written to a file.
type fileRecord struct {
	content uint64          // checksum of the file, by which an unchanged file is recognised without decoding
	hash    uint64          // digest of the value
	lease   storage.LeaseID // 0 for none
	ends    time.Time       // end of the lease, zero without
}

var _ storage.Store = (*Store)(nil)

// Open reads all files, gives revisions to those that have changed since the journal was written,
// and begins to watch for outside changes. It fails if another process has the folder open. The
// caller closes the Store.
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

// open takes the lock, loads the files and begins to take in outside changes.
func (s *Store) open() error {
	if err := s.root.Mkdir(stateDir, dirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	unlock, err := lockFile(s.root, lockName)
	if err != nil {
		return fmt.Errorf("%s is in use by another process: %w", s.cfg.Dir, err)
	}
	s.unlock = unlock
	s.commit.records = map[string]fileRecord{}
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

// loadLocked fills the memory engine from the journal and the files.
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
	// Outside changes from before the start get revisions here. They have no events, so the history
	// of the memory engine begins after them, and watches from before are Compacted.
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
			if l := notes.leases[key]; l.hash == k.hash { // an unfinished write of this engine, not an outside change
				n.ends = l.ends
			}
			if err := j.add(n); err != nil {
				return err
			}
		}
		entries = append(entries, storage.Entry{Key: key, Value: value, Rev: n.rev})
		k.ends = n.ends
		s.commit.records[key] = k
	}
	for key := range notes.keys {
		if _, ok := s.commit.records[key]; ok {
			continue
		}
		// the file is refused, or its folder cannot be read
		if _, _, err := s.read(keyPath(key)); !errors.Is(err, fs.ErrNotExist) {
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

// loadFileLocked returns the value of a key's file and its record without the lease. ok is false if
// the file is refused.
func (s *Store) loadFileLocked(key string, rev storage.Revision) (value []byte, k fileRecord, ok bool) {
	content, modified, err := readFile(s.root, keyPath(key)) // scan has just seen that the path has no link
	if err == nil {
		k.content = checksum(content)
		value, err = decode(content)
	}
	if err == nil {
		k.hash = digest(value)
		value, err = s.acceptLocked(Found{Key: key, Value: value, Modified: modified}, rev)
	}
	s.refused.report(keyPath(key), k.content, err)
	return value, k, err == nil
}

// ignoreState writes a .gitignore for the engine's own files, because revisions differ from folder
// to folder.
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

// notes returns the present state as a rewritten journal notes it.
func (s *Store) notes() journalState {
	out := newJournalState()
	out.rev, out.births = s.mem.Current(), s.commit.births
	res, err := s.mem.Range(context.Background(), storage.RangeRequest{})
	if err != nil {
		return out
	}
	for _, e := range res.Entries {
		k := s.commit.records[e.Key]
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

// Compact implements storage.Store. Only the memory engine has a history.
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
