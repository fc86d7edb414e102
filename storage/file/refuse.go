package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/storage"
)

// refusals are the files, folders and links that the engine cannot or may not read. Each change of
// one is reported once.
type refusals struct {
	dir    string // Config.Dir, absolute
	failed func(path string, err error)

	mu struct {
		sync.Mutex
		files map[string]refusal // by name, relative to dir
	}
}

// refusal is why a file is refused. Another content of the file makes another refusal.
type refusal struct {
	content uint64 // checksum; 0 if it could not be read
	cause   string
}

// report notes that a file is refused, or with a nil error that it is in order or gone, and reports
// a change of that.
func (r *refusals) report(name string, content uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, had := r.mu.files[name]
	switch {
	case err == nil && !had:
		return
	case err == nil:
		delete(r.mu.files, name)
	default:
		is := refusal{content, err.Error()}
		if had && was == is {
			return
		}
		r.mu.files[name] = is
	}
	r.failed(filepath.Join(r.dir, name), err)
}

// under returns the refused files with a name, or in the folder of that name.
func (r *refusals) under(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for file := range r.mu.files {
		if file == name || name == "." || strings.HasPrefix(file, name+string(filepath.Separator)) {
			names = append(names, file)
		}
	}
	return names
}

// Refused implements storage.Reviewer. It counts refused folders and links, too.
func (s *Store) Refused() int { return len(s.refused.under(".")) }

// forgive drops the refusals of files that are gone, at a name or in the folder of that name.
func (s *Store) forgive(name string) {
	for _, file := range s.refused.under(name) {
		if _, err := s.stat(file); errors.Is(err, fs.ErrNotExist) {
			s.refused.report(file, 0, nil)
		}
	}
}

// failed notes that a name cannot be read or written.
func (s *Store) failed(name string, err error) { s.refused.report(name, 0, err) }

// acceptLocked calls Accept for the content of a file, and notes the Birth with which Accept has
// completed it. rev is the store's revision.
func (s *Store) acceptLocked(f Found, rev storage.Revision) ([]byte, error) {
	f.Birth = s.commit.births[f.Key]
	value, birth, err := s.cfg.Accept(f)
	if err != nil || birth == (Birth{}) || birth == f.Birth {
		return value, err
	}
	if err := s.commit.journal.add(note{rev: rev, op: opBorn, key: f.Key, birth: birth}); err != nil {
		return nil, err
	}
	s.commit.births[f.Key] = birth
	return value, nil
}
