package reload

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// CheckEvery is the time between two checks whether a file has changed.
const CheckEvery = time.Second

// File is a file that Follow reads again when it changes. It belongs to one goroutine at a time.
type File struct {
	// Path is the path of the file.
	Path string
	// Data is the content that need not be tried again: it is in force, or has failed for good.
	Data []byte
	// seen is the state of the file at the last check; nil if the file did not exist.
	seen os.FileInfo
}

// Read reads a file for the first time. If that fails, it returns the error of configfile.Read, and
// also a File, which Follow can read later.
func Read(path string) (*File, error) {
	f := &File{Path: path, seen: stat(path)} // stat comes first, so that a change during the read is seen later
	var err error
	f.Data, err = configfile.Read(path)
	return f, err
}

// Follow checks the file every CheckEvery until ctx ends, and reads it again if it has changed. If
// the content differs from Data, Follow calls use with the content, and then done with the content
// and the error of use. If use fails and lasting is true, the same content would fail again, so
// Follow tries it only after the next change. If use fails and lasting is false, Follow tries the
// content again at each check. If the file cannot be read, Follow calls done with the error, once
// for each change. Follow does not call done after the end of ctx. If the file is a pipe, Follow
// only waits for the end of ctx.
func (f *File) Follow(
	ctx context.Context,
	use func(ctx context.Context, data []byte) (lasting bool, err error),
	done func(data []byte, err error),
) {
	if f.seen != nil && !f.seen.Mode().IsRegular() {
		<-ctx.Done()
		return
	}
	again := false // the last content failed for the moment
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(CheckEvery):
		}
		seen := stat(f.Path)
		if same(seen, f.seen) && !again {
			continue
		}
		f.seen = seen
		data, err := configfile.Read(f.Path)
		if err == nil && bytes.Equal(data, f.Data) {
			again = false
			continue
		}
		lasting := true // a file that cannot be read is tried again only after a change
		if err == nil {
			lasting, err = use(ctx, data)
		}
		if ctx.Err() != nil {
			return
		}
		if again = err != nil && !lasting; !again && data != nil {
			f.Data = data
		}
		done(data, err)
	}
}

// stat returns the state of a file, or nil if it cannot be found.
func stat(file string) os.FileInfo {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// same reports whether a file has not changed between two states: both are nil, or both are of the
// same file with the same size and modification time.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
