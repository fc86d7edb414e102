package reload

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// CheckEvery is how often a file is looked at for changes.
const CheckEvery = time.Second

// File is a file that is read again when it changes. It belongs to one goroutine at a time.
type File struct {
	Path string
	Data []byte      // that is in force, or can never be
	seen os.FileInfo // of the file that data is from; nil if there is none, or nobody has looked
}

// Read reads a file for the first time. The errors are those of configfile.Read.
func Read(path string) (*File, error) {
	f := &File{Path: path, seen: stat(path)} // in this order: a change while it is read comes later
	var err error
	f.Data, err = configfile.Read(path)
	return f, err
}

// Follow reads the file again whenever it changes, until ctx ends. It calls use with changed
// content and then done with the result. If use fails and reports lasting, the same content is not
// tried again. If the file cannot be read, done is called once. A pipe can be read once only, so it
// is not followed.
func (f *File) Follow(ctx context.Context, use func(ctx context.Context, data []byte) (lasting bool, err error), done func(data []byte, err error)) {
	if f.seen != nil && !f.seen.Mode().IsRegular() {
		<-ctx.Done()
		return
	}
	again := false
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
		lasting := true // until there is another file
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

// stat is what a file is known by, nil if there is none.
func stat(file string) os.FileInfo {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// same reports whether nothing has changed.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
