package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// All names here are relative to the folder, and all files are reached through Store.root, which no symbolic link leads
// out of. Those that stay inside are not followed either: what is behind one has a name of its own.
//
// What the engine makes is for its owner alone: there are secrets among the objects.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

var (
	errLink     = errors.New("a symbolic link, which is not followed")
	errNoFile   = errors.New("no regular file")
	errNoFolder = errors.New("a file in the place of a folder")
)

// enter opens a folder, step by step so that each is seen not to be a link. With missing it makes those that are not
// there, and watches them.
func (s *Store) enter(dir string, missing bool) (*os.Root, error) {
	at, err := s.root.OpenRoot(".")
	if dir == "." || err != nil {
		return at, err
	}
	way := ""
	for part := range strings.SplitSeq(dir, string(filepath.Separator)) {
		way = filepath.Join(way, part)
		info, err := lstat(at, part)
		if missing && errors.Is(err, fs.ErrNotExist) {
			err = s.makeDir(at, part, way)
		} else if err == nil && !info.IsDir() {
			err = errNoFolder
		}
		var next *os.Root
		if err == nil {
			next, err = at.OpenRoot(part)
		}
		at.Close()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: way, Err: err}
		}
		at = next
	}
	return at, nil
}

// makeDir makes the folder name in parent.
func (s *Store) makeDir(parent *os.Root, name, way string) error {
	if err := parent.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.watch(way)
	if err := s.syncDir(parent); err != nil {
		parent.Remove(name) // or the next write would take it for durable
		return err
	}
	return nil
}

// lstat is os.Root's, with an error for a link.
func lstat(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	return info, err
}

// stat is lstat of a file or folder anywhere, and fs.ErrNotExist if a folder above it is missing.
func (s *Store) stat(name string) (fs.FileInfo, error) {
	dir, err := s.enter(filepath.Dir(name), false)
	if err != nil {
		return nil, noneBelow(err)
	}
	defer dir.Close()
	return lstat(dir, filepath.Base(name))
}

// noneBelow makes the error for a file in the place of a folder one that says that there is nothing in it.
func noneBelow(err error) error {
	if errors.Is(err, errNoFolder) {
		return fs.ErrNotExist
	}
	return err
}

// read returns what is in a file, and when it was last changed. A folder of that name is no file.
func (s *Store) read(name string) (content []byte, modified time.Time, err error) {
	dir, err := s.enter(filepath.Dir(name), false)
	if err != nil {
		return nil, modified, noneBelow(err)
	}
	defer dir.Close()
	return readFile(dir, filepath.Base(name))
}

func readFile(dir *os.Root, name string) (content []byte, modified time.Time, err error) {
	info, err := lstat(dir, name)
	switch {
	case err != nil:
		return nil, modified, err
	case info.IsDir():
		return nil, modified, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, modified, errNoFile // a pipe, say, which would be waited for
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, modified, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(content) > maxFile {
		return nil, modified, fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	return content, info.ModTime(), err
}

// replace writes a file so that its readers, and a crash, leave either the old or the new content. It reports whether
// the new one is in place, perhaps not durably.
func (s *Store) replace(name string, content []byte) (replaced bool, err error) {
	dir, err := s.enter(filepath.Dir(name), true)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	tmp := tmpPrefix + strconv.FormatUint(rand.Uint64(), 36)
	f, err := dir.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return false, err
	}
	_, err = f.Write(content)
	if err == nil && !s.cfg.NoSync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = dir.Rename(tmp, filepath.Base(name))
	}
	if err != nil {
		dir.Remove(tmp)
		return false, err
	}
	return true, s.syncDir(dir)
}

// remove removes a file, if it is there, and then the folders that are empty without it. It reports whether the file is
// gone, perhaps not durably.
func (s *Store) remove(name string) (gone bool, err error) {
	dir, err := s.enter(filepath.Dir(name), false)
	if err == nil {
		defer dir.Close()
		_, err = lstat(dir, filepath.Base(name))
	}
	if err = noneBelow(err); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err == nil {
		err = dir.Remove(filepath.Base(name))
	}
	if err != nil {
		return false, err
	}
	way := filepath.Dir(name)
	for way != "." && s.root.Remove(way) == nil {
		way = filepath.Dir(way)
	}
	left, err := s.enter(way, false)
	if err != nil {
		return true, err
	}
	defer left.Close()
	return true, s.syncDir(left)
}

func (s *Store) syncDir(dir *os.Root) error {
	if s.cfg.NoSync {
		return nil
	}
	return syncDir(dir, ".")
}

func syncDir(dir *os.Root, name string) error {
	d, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// abs is where a name is outside of the folder.
func (s *Store) abs(name string) string { return filepath.Join(s.cfg.Dir, name) }
