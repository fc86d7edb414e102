package server

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/coracle-project/coracle/scheme/configfile"
)

// watchedFile is a file that is read again when it changes.
type watchedFile struct {
	file string
	data []byte      // that is in force, or can never be
	seen os.FileInfo // of the file that data is from; nil if there is none, or nobody has looked
}

// readWatched reads a file for the first time.
func readWatched(file string) (*watchedFile, error) {
	f := &watchedFile{file: file, seen: stat(file)} // in this order: a change while it is read comes later
	var err error
	f.data, err = configfile.Read(file)
	return f, err
}

// follow reads the file again whenever it changes, until ctx ends. It calls use with changed content
// and then done with the result. If use fails and reports lasting, the same content is not tried
// again. If the file cannot be read, done is called once. A pipe can be read once only, so it is not
// followed.
func (f *watchedFile) follow(ctx context.Context, use func(ctx context.Context, data []byte) (lasting bool, err error), done func(data []byte, err error)) {
	if f.seen != nil && !f.seen.Mode().IsRegular() {
		<-ctx.Done()
		return
	}
	again := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkEvery):
		}
		seen := stat(f.file)
		if same(seen, f.seen) && !again {
			continue
		}
		f.seen = seen
		data, err := configfile.Read(f.file)
		if err == nil && bytes.Equal(data, f.data) {
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
			f.data = data
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
