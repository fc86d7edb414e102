// Package memory is the storage engine that keeps everything in the process. Nothing survives the process.
//
// A key is a chain of immutable versions, newest first; an ordered copy-on-write tree holds the heads. A shared log
// holds one version per revision, oldest first. Old versions live exactly as long as the log entry that replaced
// them, so history is bounded by the log: Compact, or the bounds of Config, cut it at its old end.
//
// Invariants:
//   - log[i].rev == floor+1+i, and the last is rev. floor is the oldest readable revision.
//   - A version reachable from the log by one prev step is intact; older ones may be gone.
//   - A head that is a deletion has a revision above floor.
//
// One RWMutex guards all of it; nothing slow happens under it. Ranges iterate a copy of the tree outside it. There
// is no goroutine: a cursor is a position, a lease is a timer.
// Read: memory.go, read.go, watch.go, lease.go.
package memory

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"

	"github.com/coracle-project/coracle/storage"
)

// Config sets bounds and the clock of a Store. The zero value is ready to use.
type Config struct {
	// History is the number of revisions that can be read and watched, default 16384.
	History int
	// HistoryBytes bounds the values held only by the history, default 64 MiB.
	HistoryBytes int64
	// MaxValue is the largest accepted key and value together in bytes, default 1.5 MiB like etcd.
	MaxValue int
	// Clock drives leases, default the real one.
	Clock Clock
	// Entries is the state to start with, and Rev its revision, at least that of each entry. Default: empty, 1.
	Entries []storage.Entry
	Rev     storage.Revision
}

// Clock calls f once, d from now, unless the returned function is called before.
type Clock interface {
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// version is one state of one key. Only prev changes, and only to nil, once nobody may read behind it.
type version struct {
	key     string
	value   []byte
	rev     storage.Revision
	lease   storage.LeaseID
	deleted bool
	prev    atomic.Pointer[version]
}

func (v *version) size() int64 { return int64(len(v.key) + len(v.value) + 64) }

// Store is the memory engine. It implements storage.Store.
type Store struct {
	cfg   Config
	rev   atomic.Uint64 // current revision; written under mu
	floor atomic.Uint64 // oldest readable revision; written under mu

	mu struct {
		sync.RWMutex
		heads    *btree.Map[string, *version]
		snap     *btree.Map[string, *version] // copy of heads, nil if stale
		log      []*version
		logBytes int64 // of versions replaced by one in the log
		leases   map[storage.LeaseID]*lease
		lastID   storage.LeaseID
		closed   bool
		wake     chan struct{} // closed at the next commit if waiting is set
	}
	closed  atomic.Bool // mu.closed for readers without the lock
	waiting atomic.Bool // set under mu.RLock, cleared under mu.Lock
}

var _ storage.Store = (*Store)(nil)

// New returns an empty store, or one that starts with cfg.Entries.
func New(cfg Config) *Store {
	if cfg.History <= 0 {
		cfg.History = 16384
	}
	if cfg.HistoryBytes <= 0 {
		cfg.HistoryBytes = 64 << 20
	}
	if cfg.MaxValue <= 0 {
		cfg.MaxValue = 3 << 19
	}
	if cfg.Clock == nil {
		cfg.Clock = realClock{}
	}
	s := &Store{cfg: cfg}
	s.mu.heads = btree.NewMap[string, *version](0)
	s.mu.leases = map[storage.LeaseID]*lease{}
	s.mu.wake = make(chan struct{})
	rev := max(cfg.Rev, 1)
	for _, e := range cfg.Entries {
		s.mu.heads.Set(e.Key, &version{key: e.Key, value: e.Value, rev: e.Rev})
		rev = max(rev, e.Rev)
	}
	s.cfg.Entries = nil
	s.rev.Store(uint64(rev))
	s.floor.Store(uint64(rev))
	return s
}

var (
	errClosed   = errors.New("the store has been closed")
	errEmptyKey = errors.New("empty key")
)

func fail(op, key string, kind storage.Kind, rev storage.Revision, err error) error {
	return &storage.Error{Op: op, Key: key, Kind: kind, Rev: rev, Err: err}
}

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, pre storage.Pre, id storage.LeaseID) (storage.Entry, error) {
	if err := ctx.Err(); err != nil {
		return storage.Entry{}, err
	}
	if key == "" {
		return storage.Entry{}, fail("put", key, storage.NotFound, 0, errEmptyKey)
	}
	if len(key)+len(value) > s.cfg.MaxValue {
		return storage.Entry{}, fail("put", key, storage.TooLarge, 0, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head, err := s.checkLocked("put", key, pre)
	if err != nil {
		return storage.Entry{}, err
	}
	if id != 0 && s.mu.leases[id] == nil {
		return storage.Entry{}, fail("put", key, storage.NoLease, 0, nil)
	}
	v := s.commitLocked(head, &version{key: key, value: value, lease: id})
	return storage.Entry{Key: key, Value: value, Rev: v.rev}, nil
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	head, err := s.checkLocked("delete", key, pre)
	if err != nil {
		return 0, err
	}
	if head == nil || head.deleted {
		return 0, fail("delete", key, storage.NotFound, s.Current(), nil)
	}
	return s.commitLocked(head, &version{key: key, deleted: true}).rev, nil
}

// Current returns the current revision, like Revision.
func (s *Store) Current() storage.Revision { return storage.Revision(s.rev.Load()) }

// checkLocked returns the head of key, nil if there is none, or says how pre fails.
func (s *Store) checkLocked(op, key string, pre storage.Pre) (*version, error) {
	if s.mu.closed {
		return nil, fail(op, key, storage.Closed, 0, errClosed)
	}
	head, _ := s.mu.heads.Get(key)
	exists := head != nil && !head.deleted
	switch {
	case pre.Absent && exists:
		return nil, fail(op, key, storage.Exists, head.rev, nil)
	case pre.Rev != 0 && !exists:
		return nil, fail(op, key, storage.NotFound, s.Current(), nil)
	case pre.Rev != 0 && head.rev != pre.Rev:
		return nil, fail(op, key, storage.Conflict, head.rev, nil)
	}
	return head, nil
}

// commitLocked makes v the head of its key in place of head, at the next revision, and wakes the watchers.
func (s *Store) commitLocked(head, v *version) *version {
	v.rev = s.Current() + 1
	if head != nil {
		v.prev.Store(head)
		s.mu.logBytes += head.size()
		if head.lease != 0 && head.lease != v.lease {
			s.mu.leases[head.lease].detach(v.key)
		}
	}
	if v.lease != 0 {
		s.mu.leases[v.lease].keys[v.key] = struct{}{}
	}
	s.mu.heads.Set(v.key, v)
	s.mu.snap = nil
	s.mu.log = append(s.mu.log, v)
	s.rev.Store(uint64(v.rev))
	s.trimLocked()
	s.wakeLocked()
	return v
}

// trimLocked keeps the log within its bounds. It always keeps the newest entry.
func (s *Store) trimLocked() {
	cut := s.floor.Load()
	bytes := s.mu.logBytes
	for i, n := 0, len(s.mu.log); i < n-1 && (n-i > s.cfg.History || bytes > s.cfg.HistoryBytes); i++ {
		if p := s.mu.log[i].prev.Load(); p != nil {
			bytes -= p.size()
		}
		cut++
	}
	s.cutLocked(cut)
}

// cutLocked forgets what only revisions before floor need. floor rises first: a reader that finds its chain cut
// then sees the new floor and reports Compacted.
func (s *Store) cutLocked(floor uint64) {
	old := s.floor.Load()
	if floor <= old {
		return
	}
	s.floor.Store(floor)
	n := int(floor - old)
	for i, v := range s.mu.log[:n] {
		if p := v.prev.Load(); p != nil {
			s.mu.logBytes -= p.size()
			v.prev.Store(nil)
		}
		if v.deleted {
			if head, _ := s.mu.heads.Get(v.key); head == v {
				s.mu.heads.Delete(v.key)
				s.mu.snap = nil
			}
		}
		s.mu.log[i] = nil
	}
	s.mu.log = s.mu.log[n:]
}

// Compact implements storage.Store. A revision not reached yet is Future, one compacted before is no error.
func (s *Store) Compact(_ context.Context, rev storage.Revision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return fail("compact", "", storage.Closed, 0, errClosed)
	}
	if cur := s.Current(); rev > cur {
		return fail("compact", "", storage.Future, cur, nil)
	}
	s.cutLocked(uint64(rev))
	s.wakeLocked()
	return nil
}

// Revision implements storage.Store.
func (s *Store) Revision(context.Context) (storage.Revision, error) {
	if s.closed.Load() {
		return 0, fail("revision", "", storage.Closed, 0, errClosed)
	}
	return s.Current(), nil
}

// Close implements storage.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closed = true
	s.closed.Store(true)
	for _, l := range s.mu.leases {
		l.stop()
	}
	s.wakeLocked()
	return nil
}
