package file

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/storage"
)

// Review implements storage.Reviewer: it has Accept judge once more what is under a prefix of keys,
// for when it knows more about that than when it was found. What it refuses now leaves the store,
// and what it completes changes; the files stay as they are. What was refused before may come in.
func (s *Store) Review(prefix string) {
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return
	}
	refused := s.refused.under(".")
	for _, key := range slices.Sorted(maps.Keys(s.commit.known)) {
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

// reviewLocked is Review of a key that is known.
func (s *Store) reviewLocked(key string) {
	info, err := s.stat(keyPath(key))
	if err != nil { // an outside change, which will be noticed
		return
	}
	e, err := s.mem.Get(context.Background(), key)
	if err != nil {
		return
	}
	k := s.commit.known[key]
	value, err := s.acceptLocked(Found{Key: key, Value: e.Value, Modified: info.ModTime()}, s.mem.Current())
	switch {
	case err != nil:
		s.refused.tell(keyPath(key), k.content, err)
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
