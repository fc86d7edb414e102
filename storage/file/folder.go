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

// Access to the folder: reading, replacing and removing files without following symbolic links. All
// other files of the package go through these functions.

// All names are relative to the folder, and all files are reached through Store.root, out of which
// no symbolic link leads. Links that stay inside are not followed either, because their target has
// a name of its own.
//
// Only the owner can read what the engine makes, because there are secrets among the objects.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

var (
	// These are reasons to refuse a name.
	errLink     = errors.New("a symbolic link, which is not followed")
	errNoFile   = errors.New("not a regular file")
	errNoFolder = errors.New("there is a file where a folder is needed")
)

// enter opens a folder step by step, so that no step follows a link. With missing it makes the
// folders that are not there and watches them.
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

// makeDir makes the folder name in parent, durably, and watches it.
func (s *Store) makeDir(parent *os.Root, name, way string) error {
	if err := parent.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.watch(way)
	if err := s.syncDir(parent); err != nil {
		parent.Remove(name) // the next write must not take it for durable
		return err
	}
	return nil
}

// lstat is Lstat of os.Root with an error for a link.
func lstat(dir *os.Root, name string) (fs.FileInfo, error) {
	info, err := dir.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	return info, err
}

// stat is lstat of a file or folder at any depth. It returns fs.ErrNotExist also if a folder above
// is missing.
func (s *Store) stat(name string) (fs.FileInfo, error) {
	dir, err := s.enter(filepath.Dir(name), false)
	if err != nil {
		return nil, noneBelow(err)
	}
	defer dir.Close()
	return lstat(dir, filepath.Base(name))
}

// noneBelow returns fs.ErrNotExist if err is errNoFolder, because nothing can lie below a file;
// otherwise it returns err.
func noneBelow(err error) error {
	if errors.Is(err, errNoFolder) {
		return fs.ErrNotExist
	}
	return err
}

// read returns the content of a file and when it was last changed. A folder of that name counts as
// no file.
func (s *Store) read(name string) (content []byte, modified time.Time, err error) {
	dir, err := s.enter(filepath.Dir(name), false)
	if err != nil {
		return nil, modified, noneBelow(err)
	}
	defer dir.Close()
	return readFile(dir, filepath.Base(name))
}

// readFile is read within an open folder. It refuses links, special files, and files larger than
// maxFile.
func readFile(dir *os.Root, name string) (content []byte, modified time.Time, err error) {
	info, err := lstat(dir, name)
	switch {
	case err != nil:
		return nil, modified, err
	case info.IsDir():
		return nil, modified, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, modified, errNoFile // to read a pipe, for example, would block
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

// replace writes a file so that readers, and a start after a crash, see either the old or the new
// content. replaced reports whether the new content is in place; with an error it may not be
// durable.
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

// remove removes a file if it is there, and then the folders that have become empty. gone reports
// whether the file is gone; with an error that may not be durable.
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

// syncDir makes the names in a folder durable, unless Config.NoSync is set.
func (s *Store) syncDir(dir *os.Root) error {
	if s.cfg.NoSync {
		return nil
	}
	return syncDir(dir, ".")
}

// syncDir makes the names in the folder name of dir durable.
func syncDir(dir *os.Root, name string) error {
	d, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// abs returns the path of a name outside of the folder's root.
func (s *Store) abs(name string) string { return filepath.Join(s.cfg.Dir, name) }
