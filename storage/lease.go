package storage

import (
	"context"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	maxLeaseKeys  = 1000 // bounds the transaction in which etcd deletes the keys of a lease
	maxLeasesKept = 16   // leases that may get more keys
)

// Leases gives keys a time to live. Keys whose times end at about the same moment share a lease,
// because thousands of leases, such as one for each Event, slow etcd down. Therefore a key may live
// longer than its ttl, by up to a twentieth of it, but by no less than 1 s and no more than 60 s. A
// key never lives shorter than its ttl. All methods may be called at once.
type Leases struct {
	store Store
	now   func() time.Time
	grant singleflight.Group

	mu struct {
		sync.Mutex
		leases []*sharedLease // newest last, at most maxLeasesKept
	}
}

// sharedLease is a lease and the number of keys that have been put with it.
type sharedLease struct {
	id   LeaseID
	ends time.Time // at the earliest
	keys int
}

// NewLeases returns Leases of s. A nil now is time.Now.
func NewLeases(s Store, now func() time.Time) *Leases {
	if now == nil {
		now = time.Now
	}
	return &Leases{store: s, now: now}
}

// Put is Store.Put for a key that lives for ttl.
func (l *Leases) Put(ctx context.Context, key string, value []byte, pre Pre, ttl time.Duration) (Entry, error) {
	for try := 0; ; try++ {
		id, err := l.Get(ctx, ttl)
		if err != nil {
			return Entry{}, err
		}
		e, err := l.store.Put(ctx, key, value, pre, id)
		if KindOf(err) != NoLease || try == 2 {
			return e, err
		}
		l.Forget(id) // the lease ended early: the store was restored, or its clock jumped
	}
}

// Get returns a lease for one key, which it counts as put. The lease ends ttl from now, or later by
// at most the slack that the comment of Leases allows.
func (l *Leases) Get(ctx context.Context, ttl time.Duration) (LeaseID, error) {
	slack := min(max(ttl/20, time.Second), time.Minute)
	for {
		if id := l.shared(ttl, slack); id != 0 {
			return id, nil
		}
		// Concurrent callers wait for one grant, and then share the lease.
		_, err, _ := l.grant.Do(strconv.FormatInt(int64(ttl), 10), func() (any, error) {
			if l.peek(ttl, slack) {
				return nil, nil
			}
			begin := l.now()
			id, err := l.store.Lease(ctx, ttl+slack)
			if err == nil {
				l.add(&sharedLease{id: id, ends: begin.Add(ttl + slack)})
			}
			return nil, err
		})
		if err == nil {
			continue
		}
		if cerr := ctx.Err(); cerr != nil {
			return 0, cerr
		}
		// No storage error: the context of the caller that asked for the grant has ended, and ours
		// has not.
		if KindOf(err) == 0 {
			continue
		}
		return 0, err
	}
}

// shared counts a key on a lease that fits and returns its ID, or 0 if none fits.
func (l *Leases) shared(ttl, slack time.Duration) LeaseID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.findLocked(ttl, slack); s != nil {
		s.keys++
		return s.id
	}
	return 0
}

// peek reports whether a lease fits.
func (l *Leases) peek(ttl, slack time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.findLocked(ttl, slack) != nil
}

// findLocked returns a lease that ends ttl from now or up to slack later and may get more keys, or
// nil.
func (l *Leases) findLocked(ttl, slack time.Duration) *sharedLease {
	earliest := l.now().Add(ttl)
	latest := earliest.Add(slack)
	for i := len(l.mu.leases) - 1; i >= 0; i-- {
		s := l.mu.leases[i]
		if s.keys < maxLeaseKeys && !s.ends.Before(earliest) && !s.ends.After(latest) {
			return s
		}
	}
	return nil
}

// add makes a lease available to later keys, in place of the oldest if there are too many.
func (l *Leases) add(s *sharedLease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.leases) >= maxLeasesKept {
		l.mu.leases = append(l.mu.leases[:0], l.mu.leases[1:]...)
	}
	l.mu.leases = append(l.mu.leases, s)
}

// Forget removes a lease from those that are shared. Call it for a lease that Put has refused with
// NoLease, because the store has lost it or its clock jumped.
func (l *Leases) Forget(id LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.mu.leases {
		if s.id == id {
			l.mu.leases = append(l.mu.leases[:i], l.mu.leases[i+1:]...)
			return
		}
	}
}
