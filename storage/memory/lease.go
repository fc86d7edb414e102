package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// lease is one lease and its keys. Store.mu guards it.
type lease struct {
	keys map[string]struct{} // keys whose present version was put with this lease
	stop func() bool         // stops the timer that calls expire
}

// detach removes a key from the lease when another version of the key is written. l is nil if the
// lease has ended.
func (l *lease) detach(key string) {
	if l != nil {
		delete(l.keys, key)
	}
}

// Lease implements storage.Store. A part of a second in ttl is rounded up, as the resolution is
// seconds.
func (s *Store) Lease(_ context.Context, ttl time.Duration) (storage.LeaseID, error) {
	ttl = max(1, (ttl+time.Second-1)/time.Second) * time.Second
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return 0, fail("lease", "", storage.Closed, 0, errClosed)
	}
	s.mu.lastID++
	id := s.mu.lastID
	s.mu.leases[id] = &lease{
		keys: map[string]struct{}{},
		stop: s.cfg.Clock.AfterFunc(ttl, func() { s.expire(id) }),
	}
	return id, nil
}

// expire deletes the keys of a lease in key order, each at a revision of its own, and forgets the
// lease. The timer of the lease calls it.
func (s *Store) expire(id storage.LeaseID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.mu.leases[id]
	if l == nil || s.mu.closed {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		head, _ := s.mu.heads.Get(key)
		s.commitLocked(head, &version{key: key, deleted: true})
	}
	delete(s.mu.leases, id)
}
