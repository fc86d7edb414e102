package file

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/storage"
)

func fail(op, key string, kind storage.Kind, rev storage.Revision, err error) error {
	return &storage.Error{Op: op, Key: key, Kind: kind, Rev: rev, Err: err}
}

// Put implements storage.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, pre storage.Pre, id storage.LeaseID) (storage.Entry, error) {
	if err := ctx.Err(); err != nil {
		return storage.Entry{}, err
	}
	if len(key)+len(value) > s.cfg.MaxValue {
		return storage.Entry{}, fail("put", key, storage.TooLarge, 0, nil)
	}
	if err := checkKey(key); err != nil {
		return storage.Entry{}, fail("put", key, storage.Unavailable, 0, err)
	}
	content := encode(value)
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.checkLocked(ctx, "put", key, pre); err != nil {
		return storage.Entry{}, err
	}
	var ends time.Time
	if id != 0 {
		l := s.commit.leases[id]
		if l == nil {
			return storage.Entry{}, fail("put", key, storage.NoLease, 0, nil)
		}
		ends = l.ends
	}
	if replaced, err := s.replace(s.path(key), content); err != nil {
		kind := storage.Unavailable
		if replaced {
			kind = storage.InDoubt
		}
		return storage.Entry{}, fail("put", key, kind, 0, err)
	}
	n := note{rev: s.mem.Current() + 1, key: key, hash: sum(content), ends: ends}
	if err := s.commit.journal.add(n); err != nil {
		return storage.Entry{}, fail("put", key, storage.InDoubt, 0, err)
	}
	e, err := s.mem.Put(context.Background(), key, value, storage.Pre{}, 0)
	if err != nil {
		return storage.Entry{}, err
	}
	s.attachLocked(key, known{hash: n.hash, lease: id, ends: ends})
	s.commit.journal.rewriteIfLong(s.notes)
	return e, nil
}

// Delete implements storage.Store.
func (s *Store) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.checkLocked(ctx, "delete", key, pre); err != nil {
		return 0, err
	}
	if _, err := s.mem.Get(ctx, key); err != nil {
		return 0, fail("delete", key, storage.NotFound, s.mem.Current(), nil)
	}
	path := s.path(key)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fail("delete", key, storage.Unavailable, 0, err)
	}
	s.prune(filepath.Dir(path))
	return s.forgetLocked(key)
}

// forgetLocked notes and commits the deletion of a key whose file is gone.
func (s *Store) forgetLocked(key string) (storage.Revision, error) {
	if err := s.commit.journal.add(note{rev: s.mem.Current() + 1, key: key, deleted: true}); err != nil {
		return 0, fail("delete", key, storage.InDoubt, 0, err)
	}
	s.detachLocked(key)
	delete(s.commit.known, key)
	return s.mem.Delete(context.Background(), key, storage.Pre{})
}

// checkLocked takes in an outside change of the key that has not been noticed yet, then checks pre.
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
	return nil
}

// replace writes a file so that its readers, and a crash, leave either the old or the new content. It reports whether
// the new one is in place, perhaps not durably.
func (s *Store) replace(path string, content []byte) (replaced bool, err error) {
	dir := filepath.Dir(path)
	if err := s.makeDir(dir); err != nil {
		return false, err
	}
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return false, err
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(content)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil && !s.cfg.NoSync {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return false, err
	}
	return true, s.syncDir(dir)
}

// makeDir makes dir and those above it, and watches them.
func (s *Store) makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if dir != s.cfg.Dir && !strings.HasPrefix(dir, s.cfg.Dir+string(filepath.Separator)) {
		return fmt.Errorf("%s is outside of the folder", dir)
	}
	parent := filepath.Dir(dir)
	if err := s.makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := s.notify.Add(dir); err != nil {
		s.cfg.Failed(dir, err) // its files are still written and read, only outside changes go unnoticed
	}
	return s.syncDir(parent)
}

func (s *Store) syncDir(dir string) error {
	if s.cfg.NoSync {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// prune syncs dir after a removal, and removes it and those above it if they are empty.
func (s *Store) prune(dir string) {
	for dir != s.cfg.Dir && os.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
	if err := s.syncDir(dir); err != nil {
		s.cfg.Failed(dir, err)
	}
}

// lease is guarded by Store.commit.
type lease struct {
	ends  time.Time
	keys  map[string]struct{}
	timer *time.Timer
}

// Lease implements storage.Store. The end of a key's lease is in the journal, so leases survive a restart.
func (s *Store) Lease(_ context.Context, ttl time.Duration) (storage.LeaseID, error) {
	ttl = max(1, (ttl+time.Second-1)/time.Second) * time.Second
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return 0, fail("lease", "", storage.Closed, 0, nil)
	}
	return s.newLeaseLocked(time.Now().Add(ttl)), nil
}

func (s *Store) newLeaseLocked(ends time.Time) storage.LeaseID {
	s.commit.lastID++
	id := s.commit.lastID
	s.commit.leases[id] = &lease{ends: ends, keys: map[string]struct{}{},
		timer: time.AfterFunc(time.Until(ends), func() { s.expire(id) })}
	return id
}

// expireAgain is the time between two tries to delete the keys of a lease that has ended.
const expireAgain = 10 * time.Second

// expire deletes the keys of a lease, and their files. A key that was changed outside is not on the lease any more.
func (s *Store) expire(id storage.LeaseID) {
	s.commit.Lock()
	defer s.commit.Unlock()
	l := s.commit.leases[id]
	if l == nil || s.commit.closed {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(l.keys)) {
		if s.syncKeyLocked(key) != nil || s.commit.known[key].lease != id {
			continue
		}
		path := s.path(key)
		if err := os.Remove(path); err != nil {
			s.cfg.Failed(path, err)
			continue
		}
		s.prune(filepath.Dir(path))
		if _, err := s.forgetLocked(key); err != nil {
			s.cfg.Failed(path, err)
		}
	}
	if len(l.keys) == 0 {
		delete(s.commit.leases, id)
		return
	}
	l.timer.Reset(expireAgain)
}

func (s *Store) attachLocked(key string, k known) {
	s.detachLocked(key)
	if l := s.commit.leases[k.lease]; l != nil {
		l.keys[key] = struct{}{}
	}
	s.commit.known[key] = k
}

func (s *Store) detachLocked(key string) {
	if l := s.commit.leases[s.commit.known[key].lease]; l != nil {
		delete(l.keys, key)
	}
}

// restoreLeasesLocked makes one lease for each end found in the journal.
func (s *Store) restoreLeasesLocked(notes journalState) {
	ids := map[int64]storage.LeaseID{}
	for key, k := range s.commit.known {
		ends := notes.keys[key].ends
		if ends.IsZero() || notes.keys[key].hash != k.hash {
			continue
		}
		id := ids[ends.UnixMilli()]
		if id == 0 {
			id = s.newLeaseLocked(ends)
			ids[ends.UnixMilli()] = id
		}
		s.attachLocked(key, known{hash: k.hash, lease: id, ends: ends})
	}
}
