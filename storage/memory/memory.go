// Package memory is the storage engine that keeps everything in the process. Nothing survives the
// process.
//
// Words: a version is one state of one key. The head of a key is its newest version. The log holds
// one version per revision, oldest first. The floor is the oldest revision that can be read.
//
// A key is a chain of immutable versions, newest first. An ordered copy-on-write tree holds the
// heads. A version that has been replaced lives exactly as long as the log entry of the version
// that replaced it, so the log bounds the history: Compact and the bounds of Config cut the log at
// its old end.
//
// Invariants:
//   - log[i].rev == floor+1+i, and the rev of the last one is Store.rev.
//   - A version reachable from the log by one prev step is intact. Older ones may be gone.
//   - A head that is a deletion has a revision above floor.
//
// One RWMutex guards all of it, and nothing slow happens under it: a Range iterates a copy of the
// tree after it has released the lock. There is no goroutine: a cursor is a position in the log,
// and a lease is a timer. All methods may be called at once.
//
// Not here: persistence (packages embedded, etcd and file; file keeps its state and history in a
// Store of this package), encryption, and the meaning of values.
//
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

// Config sets the bounds, the clock and the first state of a Store. The zero value is ready to use.
type Config struct {
	// History is the number of revisions that can be read and watched, default 16384.
	History int
	// HistoryBytes bounds the versions that only the history holds, in bytes, default 64 MiB.
	HistoryBytes int64
	// MaxValue is the largest size of a key and its value together, in bytes, default 1.5 MiB as in
	// etcd.
	MaxValue int
	// Clock runs the timers of leases, default the real clock.
	Clock Clock
	// Entries is the first state, default empty. Rev is its revision, default the highest of the
	// entries and at least 1.
	Entries []storage.Entry
	Rev     storage.Revision
}

// Clock is a source of timers, so that tests can use their own time.
type Clock interface {
	// AfterFunc calls f once, d from now, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// realClock is the Clock of package time.
type realClock struct{}

func (realClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// version is one state of one key. It is immutable but for prev, which becomes nil once nobody may
// read behind the version.
type version struct {
	key     string
	value   []byte
	rev     storage.Revision
	lease   storage.LeaseID
	deleted bool // the version is a deletion; value is nil
	prev    atomic.Pointer[version]
}

// size estimates the memory of a version in bytes.
func (v *version) size() int64 { return int64(len(v.key) + len(v.value) + 64) }

// Store is the memory engine. It implements storage.Store.
type Store struct {
	cfg   Config
	rev   atomic.Uint64 // current revision; written under mu
	floor atomic.Uint64 // oldest readable revision; written under mu

	mu struct {
		sync.RWMutex
		heads    *btree.Map[string, *version] // newest version by key, deletions above floor included
		snap     *btree.Map[string, *version] // copy of heads, nil if stale
		log      []*version                   // one version per revision from floor+1 on
		logBytes int64                        // bytes of the versions that versions in the log have replaced
		leases   map[storage.LeaseID]*lease
		lastID   storage.LeaseID
		closed   bool
		wake     chan struct{} // closed at the next commit if waiting is set
	}
	closed  atomic.Bool // equals mu.closed, for readers without the lock
	waiting atomic.Bool // a cursor may wait on wake; set under mu.RLock, cleared under mu.Lock
}

var _ storage.Store = (*Store)(nil)

// New returns a store with the entries of cfg, which is empty for the zero Config.
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

// fail makes the error of an operation.
func fail(op, key string, kind storage.Kind, rev storage.Revision, err error) error {
	return &storage.Error{Op: op, Key: key, Kind: kind, Rev: rev, Err: err}
}

// Put implements storage.Store. The store keeps value without copying it.
func (s *Store) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, id storage.LeaseID,
) (storage.Entry, error) {
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

// Current returns the current revision. Unlike Revision it needs no context and does not fail after
// Close.
func (s *Store) Current() storage.Revision { return storage.Revision(s.rev.Load()) }

// checkLocked returns the head of key, which is nil if there is none, or the error of a
// precondition that fails.
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
	if pre.Fence.Key != "" {
		if rev := s.revLocked(pre.Fence.Key); rev != pre.Fence.Rev {
			return nil, fail(op, key, storage.Fenced, rev, nil)
		}
	}
	return head, nil
}

// revLocked returns the revision of key, 0 if there is no such key.
func (s *Store) revLocked(key string) storage.Revision {
	head, _ := s.mu.heads.Get(key)
	if head == nil || head.deleted {
		return 0
	}
	return head.rev
}

// commitLocked makes v the head of its key at the next revision, in place of head, and wakes the
// cursors. It moves the key from the lease of head to that of v.
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

// trimLocked cuts the log to the bounds of Config. It always keeps the newest entry.
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

// cutLocked drops every version that only reads below floor need. It raises s.floor before it cuts
// a chain: a reader without the lock that finds its chain cut then sees the new floor and reports
// Compacted.
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

// Compact implements storage.Store. A revision that has not been reached is Future. One that has
// been compacted before is no error.
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
