package server

import (
	"bytes"
	"context"
	"os"
	"time"
)

// watchedFile is a file that is read again when it changes.
type watchedFile struct {
	file    string
	data    []byte // that is in force, or can never be
	changed time.Time
}

// readWatched reads a file for the first time.
func readWatched(file string) (*watchedFile, error) {
	f := &watchedFile{file: file, changed: modified(file)} // in this order: a change while it is read comes later
	var err error
	f.data, err = os.ReadFile(file)
	return f, err
}

// follow reads the file again when it changes, until ctx ends. use puts other content in force, or says why it cannot, and whether
// trying again would not help; done is told what came of it.
func (f *watchedFile) follow(ctx context.Context, use func(ctx context.Context, data []byte) (lasting bool, err error), done func(error)) {
	again := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkEvery):
		}
		at := modified(f.file)
		if at.Equal(f.changed) && !again {
			continue
		}
		f.changed = at
		data, err := os.ReadFile(f.file)
		if err == nil && bytes.Equal(data, f.data) {
			again = false
			continue
		}
		var lasting bool
		if err == nil {
			lasting, err = use(ctx, data)
		}
		if ctx.Err() != nil {
			return
		}
		if again = err != nil && !lasting; !again {
			f.data = data
		}
		done(err)
	}
}

// modified is when a file changed, the zero time if there is none.
func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
