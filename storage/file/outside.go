package file

import (
	"context"
	"errors"
	"io/fs"
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
			name, err := filepath.Rel(s.cfg.Dir, ev.Name)
			if err != nil || hidden(name) || ev.Op == fsnotify.Chmod {
				continue
			}
			if len(dirty) == 0 {
				since = time.Now()
			}
			dirty[name] = true
			settle.Reset(min(s.cfg.Settle, time.Until(since.Add(10*s.cfg.Settle))))
		case err, ok := <-s.notify.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				s.failed(".", err)
				continue
			}
			dirty["."] = true // events were lost: look at everything
			settle.Reset(s.cfg.Settle)
		case <-settle.C:
			for name := range dirty {
				s.syncPath(name)
			}
			clear(dirty)
		}
	}
}

// hidden reports whether a name has a part that begins with a dot.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}

// syncPath takes in whatever has become of a file or folder.
func (s *Store) syncPath(name string) {
	var keys []string
	if info, err := s.stat(name); err == nil && info.IsDir() {
		if keys, err = s.scan(name); err != nil {
			s.failed(name, err)
		}
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return
	}
	if key, ok := s.keyOf(name); ok {
		keys = append(keys, key)
	} else {
		// A folder that has gone or been replaced may have taken known keys with it.
		under := name + string(filepath.Separator)
		for key := range s.commit.known {
			if name == "." || strings.HasPrefix(keyPath(key), under) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		s.syncKeyLocked(key)
	}
}

// keyOf returns the key that a file stands for, if it can be one.
func (s *Store) keyOf(name string) (string, bool) {
	if !strings.HasSuffix(name, suffix) {
		return "", false
	}
	key, err := pathKey(name)
	if err != nil {
		if _, serr := s.stat(name); serr == nil {
			s.failed(name, err)
		}
		return "", false
	}
	return key, true
}

// scan returns the keys of all files under dir, and watches its folders.
func (s *Store) scan(dir string) ([]string, error) {
	var keys []string
	err := fs.WalkDir(s.root.FS(), filepath.ToSlash(dir), func(path string, d fs.DirEntry, err error) error {
		name := filepath.FromSlash(path)
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			if strings.HasPrefix(d.Name(), tmpPrefix) {
				s.removeOld(name, d)
			}
			return nil
		case d.IsDir():
			s.watch(name)
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			s.failed(name, errLink)
			return nil
		}
		if key, ok := s.keyOf(name); ok {
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// watch asks to be told of changes in a folder. Without that its files are still read and written, only outside changes
// go unnoticed.
func (s *Store) watch(dir string) {
	if err := s.notify.Add(s.abs(dir)); err != nil && !errors.Is(err, fsnotify.ErrClosed) {
		s.failed(dir, err)
	}
}

// removeOld removes what a crash has left of an unfinished write.
func (s *Store) removeOld(name string, d fs.DirEntry) {
	if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
		s.root.Remove(name)
	}
}

// syncKeyLocked compares the file of a key with what is known of it, and commits a difference of meaning. It reports, and
// does nothing else about, a file that cannot be read.
func (s *Store) syncKeyLocked(key string) error {
	err := s.commit.journal.mend(s.notes)
	if err == nil {
		err = s.compareLocked(key)
	}
	if err != nil {
		s.failed(keyPath(key), err)
	}
	return err
}

func (s *Store) compareLocked(key string) error {
	content, err := s.read(keyPath(key))
	k, had := s.commit.known[key]
	switch {
	case errors.Is(err, fs.ErrNotExist) && had:
		_, err = s.forgetLocked(key, nil)
		return err
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	sum := checksum(content)
	if had && k.content == sum {
		return nil
	}
	value, err := decode(content)
	if err != nil {
		return err
	}
	hash := digest(value)
	if had && k.hash == hash {
		k.content = sum
		s.commit.known[key] = k
		return nil
	}
	if err := s.commit.journal.add(note{rev: s.mem.Current() + 1, op: opPut, key: key, hash: hash}); err != nil {
		return err
	}
	if _, err := s.mem.Put(context.Background(), key, value, storage.Pre{}, 0); err != nil {
		return err
	}
	s.attachLocked(key, known{content: sum, hash: hash})
	return nil
}
