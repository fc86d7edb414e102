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
	errLink   = errors.New("a symbolic link, which is not followed")
	errNoFile = errors.New("no regular file")
)

// lstat is os.Root's, with an error for a link, be it name itself or a folder above.
func (s *Store) lstat(name string) (fs.FileInfo, error) {
	for i := 1; i <= len(name); i++ {
		if i < len(name) && !os.IsPathSeparator(name[i]) {
			continue
		}
		info, err := s.root.Lstat(name[:i])
		switch {
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, &fs.PathError{Op: "open", Path: name[:i], Err: errLink}
		case i == len(name):
			return info, nil
		case !info.IsDir():
			return nil, fs.ErrNotExist
		}
	}
	return nil, fs.ErrInvalid
}

// read returns what is in a file. A folder of that name is no file.
func (s *Store) read(name string) ([]byte, error) {
	info, err := s.lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, errNoFile // a pipe, say, which would be waited for
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(content) > maxFile {
		return nil, fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	return content, err
}

// replace writes a file so that its readers, and a crash, leave either the old or the new content. It reports whether
// the new one is in place, perhaps not durably.
func (s *Store) replace(name string, content []byte) (replaced bool, err error) {
	dir := filepath.Dir(name)
	if err := s.makeDir(dir); err != nil {
		return false, err
	}
	tmp := filepath.Join(dir, tmpPrefix+strconv.FormatUint(rand.Uint64(), 36))
	f, err := s.root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
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
		err = s.root.Rename(tmp, name)
	}
	if err != nil {
		s.root.Remove(tmp)
		return false, err
	}
	return true, s.syncDir(dir)
}

// makeDir makes dir and those above it, and watches them.
func (s *Store) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	info, err := s.lstat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is in the place of a folder", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := s.makeDir(parent); err != nil {
		return err
	}
	if err := s.root.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.watch(dir)
	if err := s.syncDir(parent); err != nil {
		s.root.Remove(dir) // or the next write would take it for durable
		return err
	}
	return nil
}

// remove removes a file, if it is there, and then the folders that are empty without it. It reports whether the file is
// gone, perhaps not durably.
func (s *Store) remove(name string) (gone bool, err error) {
	if _, err = s.lstat(name); err == nil {
		err = s.root.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	dir := filepath.Dir(name)
	for dir != "." && s.root.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
	err = s.syncDir(dir)
	if errors.Is(err, fs.ErrNotExist) { // with all that was in it
		err = nil
	}
	return true, err
}

func (s *Store) syncDir(dir string) error {
	if s.cfg.NoSync {
		return nil
	}
	return syncDir(s.root, dir)
}

func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// abs is where a name is outside of the folder.
func (s *Store) abs(name string) string { return filepath.Join(s.cfg.Dir, name) }

func (s *Store) failed(name string, err error) { s.cfg.Failed(s.abs(name), err) }
