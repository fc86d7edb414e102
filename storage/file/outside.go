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

// Outside changes. takeIn waits for reports of the file system; syncKeyLocked compares the file of
// a key with the last known content and commits a difference. Writes call syncKeyLocked as well
// (checkLocked in write.go), so that they never overwrite a change that has not been seen.

// takeIn collects the paths that the file system reports. It takes them in when there has been no
// report for Settle, or ten times Settle after the first. It ends when notify is closed.
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
			if err != nil || hidden(name) {
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
				s.cfg.Failed(s.cfg.Dir, err)
				continue
			}
			dirty["."] = true // reports were lost: look at everything
			settle.Reset(s.cfg.Settle)
		case <-settle.C:
			for name := range dirty {
				s.syncPath(name)
			}
			clear(dirty)
		}
	}
}

// hidden reports whether a part of a name begins with a dot.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		if strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	return false
}

// syncPath takes in the changes of a file or of everything in a folder.
func (s *Store) syncPath(name string) {
	var keys []string
	info, err := s.stat(name)
	switch {
	case err == nil && info.IsDir():
		keys = s.scan(name)
	case errors.Is(err, errLink):
		s.failed(name, err)
	case errors.Is(err, fs.ErrNotExist):
		s.forgive(name)
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if s.commit.closed {
		return
	}
	if key, ok := s.keyOf(name); ok {
		keys = append(keys, key)
	} else {
		// The keys in a folder that is gone or replaced may be gone, too.
		under := name + string(filepath.Separator)
		for key := range s.commit.records {
			if name == "." || strings.HasPrefix(keyPath(key), under) {
				keys = append(keys, key)
			}
		}
	}
	for _, key := range keys {
		s.syncKeyLocked(key)
	}
}

// keyOf returns the key of a file. It returns false if no key has that file, and reports a YAML
// file with such a name.
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

// scan returns the keys of all files under dir, and watches its folders. It leaves out files and
// folders that it cannot read, and reports them.
func (s *Store) scan(dir string) []string {
	var keys []string
	fs.WalkDir(s.root.FS(), filepath.ToSlash(dir), func(path string, d fs.DirEntry, err error) error {
		name := filepath.FromSlash(path)
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			s.failed(name, err)
			return nil
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
	return keys
}

// watch asks the file system for reports on a folder. If that fails, outside changes in it are
// noticed only when their keys are written.
func (s *Store) watch(dir string) {
	if err := s.notify.Add(s.abs(dir)); !errors.Is(err, fsnotify.ErrClosed) {
		s.failed(dir, err)
	}
}

// removeOld removes an unfinished file that a crash has left more than an hour ago.
func (s *Store) removeOld(name string, d fs.DirEntry) {
	if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
		s.root.Remove(name)
	}
}

// syncKeyLocked compares the file of a key with the content last seen, and commits a difference of
// meaning. It reports a refused file, and leaves its key as it is.
func (s *Store) syncKeyLocked(key string) error {
	err := s.commit.journal.mend(s.notes)
	if err != nil {
		s.failed(keyPath(key), err)
		return err
	}
	content, modified, err := s.read(keyPath(key))
	_, had := s.commit.records[key]
	sum := uint64(0)
	switch {
	case err == nil:
		sum = checksum(content)
		err = s.compareLocked(key, content, modified)
	case errors.Is(err, fs.ErrNotExist) && had:
		_, err = s.forgetLocked(key, nil)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	s.refused.report(keyPath(key), sum, err)
	return err
}

// compareLocked is syncKeyLocked for a file that has been read.
func (s *Store) compareLocked(key string, content []byte, modified time.Time) error {
	k, had := s.commit.records[key]
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
		s.commit.records[key] = k
		return nil
	}
	found := Found{Key: key, Value: value, Modified: modified}
	if e, err := s.mem.Get(context.Background(), key); err == nil {
		found.Old = e.Value
	}
	if value, err = s.acceptLocked(found, s.mem.Current()); err != nil {
		return err
	}
	if err := s.commit.journal.add(note{rev: s.mem.Current() + 1, op: opPut, key: key, hash: hash}); err != nil {
		return err
	}
	if _, err := s.mem.Put(context.Background(), key, value, storage.Pre{}, 0); err != nil {
		return err
	}
	s.attachLocked(key, fileRecord{content: sum, hash: hash})
	return nil
}
