package file

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/storage"
)

// Review lets Accept decide again, for example after a kind's schema has changed.

// Review implements storage.Reviewer. It calls Accept again for the keys under a prefix, because
// Accept knows more about them than when they were found. If Accept refuses a value, its key leaves
// the store; if Accept completes the value differently, the store gets the other value. Files that
// were refused before may be accepted. No file changes.
func (s *Store) Review(prefix string) {
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return
	}
	refused := s.refused.under(".")
	for _, key := range slices.Sorted(maps.Keys(s.commit.records)) {
		if strings.HasPrefix(key, prefix) {
			s.reviewLocked(key)
		}
	}
	for _, name := range refused {
		if key, ok := s.keyOf(name); ok && strings.HasPrefix(key, prefix) {
			s.syncKeyLocked(key)
		}
	}
}

// reviewLocked is Review for one key of the store.
func (s *Store) reviewLocked(key string) {
	info, err := s.stat(keyPath(key))
	if err != nil { // an outside change, which takeIn will notice
		return
	}
	e, err := s.mem.Get(context.Background(), key)
	if err != nil {
		return
	}
	k := s.commit.records[key]
	value, err := s.acceptLocked(Found{Key: key, Value: e.Value, Modified: info.ModTime()}, s.mem.Current())
	switch {
	case err != nil:
		s.refused.report(keyPath(key), k.content, err)
		_, err = s.forgetLocked(key, nil)
	case !bytes.Equal(value, e.Value):
		err = s.commit.journal.add(note{rev: s.mem.Current() + 1, op: opPut, key: key, hash: k.hash, ends: k.ends})
		if err == nil {
			_, err = s.mem.Put(context.Background(), key, value, storage.Pre{}, 0)
		}
	}
	if err != nil {
		s.failed(keyPath(key), err)
	}
}
