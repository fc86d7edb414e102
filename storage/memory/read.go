package memory

import (
	"context"
	"strings"

	"github.com/tidwall/btree"

	"github.com/coracle-project/coracle/storage"
)

// Get implements storage.Store.
func (s *Store) Get(_ context.Context, key string) (storage.Entry, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.mu.closed {
		return storage.Entry{}, fail("get", key, storage.Closed, 0, errClosed)
	}
	v, _ := s.mu.heads.Get(key)
	if v == nil || v.deleted {
		return storage.Entry{}, fail("get", key, storage.NotFound, s.Current(), nil)
	}
	return storage.Entry{Key: v.key, Value: v.value, Rev: v.rev}, nil
}

// Range implements storage.Store. It walks a snapshot of the heads without the lock, and follows
// the chain of each key to the revision that is read. Counting the entries behind Limit costs a
// walk over them; NoCount avoids it.
func (s *Store) Range(_ context.Context, req storage.RangeRequest) (storage.RangeResult, error) {
	tree, cur, err := s.snapshot()
	if err != nil {
		return storage.RangeResult{}, err
	}
	res := storage.RangeResult{Rev: cur}
	if req.Rev != 0 {
		res.Rev = req.Rev
	}
	floor := storage.Revision(s.floor.Load())
	switch {
	case res.Rev > cur:
		return storage.RangeResult{}, fail("range", req.Prefix, storage.Future, cur, nil)
	case res.Rev < floor:
		return storage.RangeResult{}, fail("range", req.Prefix, storage.Compacted, floor, nil)
	}
	tree.Ascend(max(req.Prefix, req.After), func(key string, v *version) bool {
		if !strings.HasPrefix(key, req.Prefix) {
			return false
		}
		for v != nil && v.rev > res.Rev {
			v = v.prev.Load()
		}
		if v == nil || v.deleted || key <= req.After {
			return true
		}
		res.Count++
		switch {
		case req.CountOnly:
		case req.Limit > 0 && len(res.Entries) >= req.Limit:
			res.More = true
			return !req.NoCount
		default:
			res.Entries = append(res.Entries, storage.Entry{Key: v.key, Value: v.value, Rev: v.rev})
		}
		return true
	})
	// A chain that this walk followed may have been cut meanwhile. A read at the snapshot's own
	// revision follows none.
	if floor = storage.Revision(s.floor.Load()); res.Rev < min(floor, cur) {
		return storage.RangeResult{}, fail("range", req.Prefix, storage.Compacted, floor, nil)
	}
	return res, nil
}

// snapshot returns an immutable tree of heads and its revision. All readers between two writes
// share one tree.
func (s *Store) snapshot() (*btree.Map[string, *version], storage.Revision, error) {
	s.mu.RLock()
	tree, rev, closed := s.mu.snap, s.Current(), s.mu.closed
	s.mu.RUnlock()
	if tree != nil || closed {
		if closed {
			return nil, 0, fail("range", "", storage.Closed, 0, errClosed)
		}
		return tree, rev, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.snap == nil {
		s.mu.snap = s.mu.heads.Copy()
	}
	return s.mu.snap, s.Current(), nil
}
