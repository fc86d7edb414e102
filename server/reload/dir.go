package reload

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Dir notices changes of the files in a directory. It belongs to one goroutine at a time.
type Dir struct {
	path string
	seen []entry // the files at the last check, by name; nil if the directory could not be read
}

// entry is a file in a directory. A link counts as the file that it leads to.
type entry struct {
	name string
	info os.FileInfo // nil if the file does not exist, such as the target of a link
}

// NewDir returns a Dir that knows the present state of the files. The caller reads the files after
// that, so that Follow notices a change during the read.
func NewDir(path string) *Dir { return &Dir{path, entries(path)} }

// Follow checks the directory every CheckEvery until ctx ends, and calls changed if a file has
// come, gone or changed since the last check, or if the directory itself has come or gone. It does
// not look into directories in the directory.
func (d *Dir) Follow(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(CheckEvery):
		}
		now := entries(d.path)
		if (now == nil) == (d.seen == nil) && slices.EqualFunc(now, d.seen, entry.same) {
			continue
		}
		d.seen = now
		changed()
	}
}

func (e entry) same(other entry) bool { return e.name == other.name && same(e.info, other.info) }

// entries returns the files in a directory. The result is nil only if the directory cannot be read.
func entries(path string) []entry {
	found, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil
	}
	list := make([]entry, 0, len(found))
	for _, f := range found {
		if f.IsDir() {
			continue
		}
		list = append(list, entry{f.Name(), stat(filepath.Join(path, f.Name()))})
	}
	return list
}
