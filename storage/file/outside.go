package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/coracle-project/coracle/storage"
)

// takeIn collects the paths that the file system reports, and takes them in once they have been left alone for
// Settle, or after ten times that. It ends when notify is closed.
func (s *Store) takeIn() {
	dirty := map[string]bool{}
	var since time.Time
	settle := time.NewTimer(time.Hour)
	defer settle.Stop()
	for {
		select {
		case ev, ok := <-s.notify.Events:
			if !ok {
				return
			}
			if s.hidden(ev.Name) || ev.Op == fsnotify.Chmod {
				continue
			}
			if len(dirty) == 0 {
				since = time.Now()
			}
			dirty[ev.Name] = true
			settle.Reset(min(s.cfg.Settle, time.Until(since.Add(10*s.cfg.Settle))))
		case err, ok := <-s.notify.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				s.cfg.Failed(s.cfg.Dir, err)
				continue
			}
			dirty[s.cfg.Dir] = true // events were lost: look at everything
			settle.Reset(s.cfg.Settle)
		case <-settle.C:
			for path := range dirty {
				s.syncPath(path)
			}
			clear(dirty)
		}
	}
}

// hidden reports whether a path has a part that begins with a dot, below Dir.
func (s *Store) hidden(path string) bool {
	rel, err := filepath.Rel(s.cfg.Dir, path)
	if err != nil {
		return true
	}
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}

// syncPath takes in whatever has become of a file or folder.
func (s *Store) syncPath(path string) {
	var keys []string
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if keys, err = s.scan(path); err != nil {
			s.cfg.Failed(path, err)
		}
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return
	}
	if key, ok := s.keyOf(path); ok {
		keys = append(keys, key)
	} else {
		// A folder that has gone or been replaced may have taken known keys with it.
		under := path + string(filepath.Separator)
		for key := range s.commit.known {
			if strings.HasPrefix(s.path(key), under) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		s.syncKeyLocked(key)
	}
}

// keyOf returns the key that a path stands for, if it can be one.
func (s *Store) keyOf(path string) (string, bool) {
	rel, err := filepath.Rel(s.cfg.Dir, path)
	if err != nil || !strings.HasSuffix(rel, suffix) {
		return "", false
	}
	key, err := pathKey(rel)
	if err != nil {
		if _, serr := os.Stat(path); serr == nil {
			s.cfg.Failed(path, err)
		}
		return "", false
	}
	return key, true
}

// scan returns the keys of all files under dir, and watches its folders.
func (s *Store) scan(dir string) ([]string, error) {
	var keys []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && errors.Is(err, os.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case path != s.cfg.Dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			if strings.HasPrefix(d.Name(), ".tmp-") {
				removeOld(path, d)
			}
			return nil
		case d.IsDir():
			if err := s.notify.Add(path); err != nil {
				s.cfg.Failed(path, err)
			}
			return nil
		}
		if key, ok := s.keyOf(path); ok {
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// removeOld removes what a crash has left of an unfinished write.
func removeOld(path string, d fs.DirEntry) {
	if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
		os.Remove(path)
	}
}

// syncKeyLocked compares the file of a key with what is known of it, and commits a difference. It reports, and does
// nothing else about, a file that cannot be read.
func (s *Store) syncKeyLocked(key string) error {
	if err := s.commit.journal.mend(s.notes); err != nil {
		s.cfg.Failed(s.path(key), err)
		return err
	}
	value, hash, err := s.read(key)
	k, had := s.commit.known[key]
	switch {
	case errors.Is(err, os.ErrNotExist):
		if !had {
			return nil
		}
		_, err = s.forgetLocked(key)
	case err == nil && had && k.hash == hash:
		return nil
	case err == nil:
		err = s.commit.journal.add(note{rev: s.mem.Current() + 1, key: key, hash: hash})
		if err == nil {
			_, err = s.mem.Put(context.Background(), key, value, storage.Pre{}, 0)
		}
		if err == nil {
			s.attachLocked(key, known{hash: hash})
		}
	}
	if err != nil {
		s.cfg.Failed(s.path(key), err)
	}
	return err
}

// read returns the value in a key's file, and the hash of the file.
func (s *Store) read(key string) ([]byte, uint64, error) {
	f, err := os.Open(s.path(key))
	if err != nil {
		if isNotDir(err) {
			err = os.ErrNotExist
		}
		return nil, 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, 0, os.ErrNotExist
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, 0, err
	}
	if len(content) > maxFile {
		return nil, 0, fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	value, err := decode(content)
	return value, sum(content), err
}
