package file

import (
	"context"
	"errors"

	"github.com/coracle-project/coracle/storage"
)

// fail makes the error of an operation.
func fail(op, key string, kind storage.Kind, rev storage.Revision, err error) error {
	return &storage.Error{Op: op, Key: key, Kind: kind, Rev: rev, Err: err}
}

// Put implements storage.Store. Steps: take in an outside change of the key, check pre, note the
// lease, replace the file, note the revision, change memory.
func (s *Store) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, id storage.LeaseID,
) (storage.Entry, error) {
	if err := ctx.Err(); err != nil {
		return storage.Entry{}, err
	}
	if len(key)+len(value) > s.cfg.MaxValue {
		return storage.Entry{}, fail("put", key, storage.TooLarge, 0, nil)
	}
	if err := checkKey(key); err != nil {
		return storage.Entry{}, fail("put", key, storage.Unavailable, 0, err)
	}
	// The value is encoded before the lock is taken: writes wait for each other.
	content, hash := encode(value), digest(value)
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.checkLocked(ctx, "put", key, pre); err != nil {
		return storage.Entry{}, err
	}
	n := note{rev: s.mem.Current() + 1, op: opPut, key: key, hash: hash}
	if id != 0 {
		l := s.commit.leases[id]
		if l == nil {
			return storage.Entry{}, fail("put", key, storage.NoLease, 0, nil)
		}
		n.ends = l.ends
		// The lease is noted before the file is in place. So a process that is killed after the
		// rename leaves no file without its lease.
		if err := s.commit.journal.add(note{rev: s.mem.Current(), op: opLease, key: key, hash: hash,
			ends: l.ends}); err != nil {
			return storage.Entry{}, fail("put", key, storage.Unavailable, 0, err)
		}
	}
	replaced, err := s.replace(keyPath(key), content)
	if !replaced {
		return storage.Entry{}, fail("put", key, storage.Unavailable, 0, err)
	}
	// The file has the value. Memory follows it whatever fails from here on; an error leaves in
	// doubt only whether the write survives a crash.
	err = errors.Join(err, s.commit.journal.add(n))
	e, merr := s.mem.Put(context.Background(), key, value, storage.Pre{}, 0)
	if merr != nil {
		return storage.Entry{}, merr
	}
	s.attachLocked(key, fileRecord{content: checksum(content), hash: hash, lease: id, ends: n.ends})
	if err != nil {
		return storage.Entry{}, fail("put", key, storage.InDoubt, 0, err)
	}
	s.commit.journal.rewriteIfLong(s.notes)
	return e, nil
}

// Delete implements storage.Store. It removes the file, notes the revision, and changes memory.
func (s *Store) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := checkKey(key); err != nil {
		return 0, fail("delete", key, storage.NotFound, s.mem.Current(), err)
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.checkLocked(ctx, "delete", key, pre); err != nil {
		return 0, err
	}
	if _, err := s.mem.Get(ctx, key); err != nil {
		return 0, fail("delete", key, storage.NotFound, s.mem.Current(), nil)
	}
	return s.removeLocked(key)
}

// removeLocked deletes a key and its file.
func (s *Store) removeLocked(key string) (storage.Revision, error) {
	gone, err := s.remove(keyPath(key))
	if !gone {
		return 0, fail("delete", key, storage.Unavailable, 0, err)
	}
	return s.forgetLocked(key, err)
}

// forgetLocked notes and commits the deletion of a key whose file is gone. doubt, if not nil, is
// the error because of which the file may come back after a crash; the deletion is then InDoubt.
func (s *Store) forgetLocked(key string, doubt error) (storage.Revision, error) {
	err := errors.Join(doubt, s.commit.journal.add(note{rev: s.mem.Current() + 1, op: opDelete, key: key}))
	s.detachLocked(key)
	delete(s.commit.records, key)
	delete(s.commit.births, key)
	rev, merr := s.mem.Delete(context.Background(), key, storage.Pre{})
	if err != nil {
		return 0, fail("delete", key, storage.InDoubt, 0, err)
	}
	return rev, merr
}

// checkLocked takes in outside changes of the key and of the fence that have not been noticed yet,
// and then checks pre.
func (s *Store) checkLocked(ctx context.Context, op, key string, pre storage.Pre) error {
	if s.commit.closed {
		return fail(op, key, storage.Closed, 0, nil)
	}
	if err := s.syncKeyLocked(key); err != nil {
		return fail(op, key, storage.Unavailable, 0, err)
	}
	cur, err := s.mem.Get(ctx, key)
	switch {
	case pre.Absent && err == nil:
		return fail(op, key, storage.Exists, cur.Rev, nil)
	case pre.Rev != 0 && err != nil:
		return fail(op, key, storage.NotFound, s.mem.Current(), nil)
	case pre.Rev != 0 && cur.Rev != pre.Rev:
		return fail(op, key, storage.Conflict, cur.Rev, nil)
	}
	if pre.Fence.Key == "" {
		return nil
	}
	if err := checkKey(pre.Fence.Key); err != nil {
		return fail(op, key, storage.Unavailable, 0, err)
	}
	if err := s.syncKeyLocked(pre.Fence.Key); err != nil {
		return fail(op, key, storage.Unavailable, 0, err)
	}
	fence, _ := s.mem.Get(ctx, pre.Fence.Key) // the zero Entry if there is no such key
	if fence.Rev != pre.Fence.Rev {
		return fail(op, key, storage.Fenced, fence.Rev, nil)
	}
	return nil
}
