package file

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Leases. A lease is in memory with its timer; the journal has only the end of each key's lease,
// from which a start makes the leases again.

// lease is a lease and its keys. Store.commit guards it.
type lease struct {
	ends  time.Time
	keys  map[string]struct{} // keys last written with this lease
	timer *time.Timer         // calls expire
}

// Lease implements storage.Store. A part of a second is rounded up. The journal has the end of each
// key's lease, so leases survive a restart.
func (s *Store) Lease(_ context.Context, ttl time.Duration) (storage.LeaseID, error) {
	ttl = max(1, (ttl+time.Second-1)/time.Second) * time.Second
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return 0, fail("lease", "", storage.Closed, 0, nil)
	}
	return s.newLeaseLocked(time.Now().Add(ttl)), nil
}

// newLeaseLocked makes a lease and starts its timer.
func (s *Store) newLeaseLocked(ends time.Time) storage.LeaseID {
	s.commit.lastID++
	id := s.commit.lastID
	s.commit.leases[id] = &lease{ends: ends, keys: map[string]struct{}{},
		timer: time.AfterFunc(time.Until(ends), func() { s.expire(id) })}
	return id
}

// expireAgain is the pause after a failure to delete all keys of a lease that has ended.
const expireAgain = 10 * time.Second

// expire deletes the keys of a lease and their files. A key with an outside change has left the
// lease. Keys that cannot be deleted are tried again.
func (s *Store) expire(id storage.LeaseID) {
	s.commit.Lock()
	defer s.commit.Unlock()
	l := s.commit.leases[id]
	if l == nil || s.commit.closed {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		if s.syncKeyLocked(key) != nil || s.commit.records[key].lease != id {
			continue
		}
		if _, err := s.removeLocked(key); err != nil {
			s.failed(keyPath(key), err)
		}
	}
	if len(l.keys) == 0 {
		delete(s.commit.leases, id)
		return
	}
	l.timer.Reset(expireAgain)
}

// attachLocked sets the record of a key and moves the key to the lease of k.
func (s *Store) attachLocked(key string, k fileRecord) {
	s.detachLocked(key)
	if l := s.commit.leases[k.lease]; l != nil {
		l.keys[key] = struct{}{}
	}
	s.commit.records[key] = k
}

// detachLocked removes a key from its lease, if it has one.
func (s *Store) detachLocked(key string) {
	if l := s.commit.leases[s.commit.records[key].lease]; l != nil {
		delete(l.keys, key)
	}
}

// restoreLeasesLocked makes one lease for each end of a lease that the journal has.
func (s *Store) restoreLeasesLocked() {
	ids := map[int64]storage.LeaseID{}
	for key, k := range s.commit.records {
		if k.ends.IsZero() {
			continue
		}
		if k.lease = ids[k.ends.UnixMilli()]; k.lease == 0 {
			k.lease = s.newLeaseLocked(k.ends)
			ids[k.ends.UnixMilli()] = k.lease
		}
		s.attachLocked(key, k)
	}
}
