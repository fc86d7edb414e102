package backend

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// rotatedForm is the time, in UTC, in the name of a rotated file.
	rotatedForm = "2006-01-02T15-04-05.000"
	gzipped     = ".gz"
)

// rotating is the file of a log. A write that would make it larger than max rotates it first: it is
// renamed to NAME-TIME.EXT, as kube-apiserver does, and a new file is made. A worker removes and
// compresses old files, at the start and after each rotation. One goroutine at a time may call
// Write, and close after the last Write.
//
// Laws:
//   - Of two rotated files, the one with the later time is newer. No file gets a name that is taken.
//   - A .gz beside the file of which it is made may be half: that file is compressed again. The file
//     is removed only when the .gz is on the disk.
//   - Only files whose names are exactly of the form are touched.
type rotating struct {
	file        *os.File
	size        int64     // of file, in bytes
	max         int64     // in bytes; 0: the file is never rotated, and old files are not touched
	last        time.Time // the time in the name of the last rotated file
	prefix, ext string    // of the path of file; the time is between them

	c       *LogConfig
	rotated chan struct{} // has a rotation that the worker has not seen; closed by close
	tidied  chan struct{} // closed when the worker has ended
	cancel  context.CancelFunc
}

// newRotating returns the file of a log that has been opened, and starts its worker.
func newRotating(file *os.File, info fs.FileInfo, c *LogConfig) *rotating {
	ctx, cancel := context.WithCancel(context.Background())
	ext := filepath.Ext(c.Path)
	r := &rotating{
		file: file, prefix: strings.TrimSuffix(filepath.Clean(c.Path), ext) + "-", ext: ext,
		c: c, rotated: make(chan struct{}, 1), tidied: make(chan struct{}), cancel: cancel,
	}
	if info.Mode().IsRegular() && c.MaxSize > 0 { // a device and a pipe are not rotated
		r.size, r.max = info.Size(), int64(c.MaxSize)<<20
		r.rotated <- struct{}{}
	}
	go func() {
		defer close(r.tidied)
		for range r.rotated {
			r.tidy(ctx)
		}
	}()
	return r
}

// Write implements io.Writer. All of p is in one file, unless the write fails.
func (r *rotating) Write(p []byte) (int, error) {
	if r.max > 0 && int64(len(p)) > r.max {
		return 0, fmt.Errorf("write length %d exceeds maximum file size %d", len(p), r.max)
	}
	if r.max > 0 && r.size+int64(len(p)) > r.max {
		if err := r.rotate(); err != nil {
			return 0, fmt.Errorf("rotating the log: %w", err)
		}
	}
	n, err := r.file.Write(p)
	r.size += int64(n)
	return n, err
}

// close waits for the worker, until ctx ends, and closes the file. A file whose compression is cut
// short stays, and is compressed at the next start.
func (r *rotating) close(ctx context.Context) {
	defer context.AfterFunc(ctx, r.cancel)()
	close(r.rotated)
	<-r.tidied
	r.cancel()
	_ = r.file.Close() // every write has been reported already
}

// rotate renames the file, unless somebody has removed it, and makes a new one with the same mode.
func (r *rotating) rotate() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	at := r.free()
	if err := os.Rename(r.c.Path, r.name(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.last, r.size = at, r.max // if no new file can be made, nothing more is written into the old one
	file, err := openFile(r.c.Path)
	if err != nil {
		return err
	}
	_ = file.Chmod(info.Mode().Perm()) // if it is not possible, nobody else may read the file
	_ = r.file.Close()
	r.file, r.size = file, 0
	select {
	case r.rotated <- struct{}{}:
	default: // the worker is behind, and will see this rotation with the one before
	}
	return nil
}

// free returns a time for the name of the file that is rotated now: the present, or the next
// millisecond whose name is not taken.
func (r *rotating) free() time.Time {
	at := time.Now().UTC().Truncate(time.Millisecond)
	if !at.After(r.last) {
		at = r.last.Add(time.Millisecond)
	}
	for ; ; at = at.Add(time.Millisecond) {
		// The worker makes the .gz before it removes the file, so they are looked up in this order.
		_, plain := os.Lstat(r.name(at))
		_, zipped := os.Lstat(r.name(at) + gzipped)
		if plain != nil && zipped != nil {
			return at
		}
	}
}

// name returns the path of the file that was rotated at a time.
func (r *rotating) name(at time.Time) string { return r.prefix + at.Format(rotatedForm) + r.ext }

// timeOf is the inverse of name. ours tells that path is the path of a rotated file.
func (r *rotating) timeOf(path string) (at time.Time, ours bool) {
	at, err := time.Parse(rotatedForm, strings.TrimSuffix(strings.TrimPrefix(path, r.prefix), r.ext))
	return at, err == nil && r.name(at) == path
}

// tidy removes the old files that are too many or too old, and compresses the others. A failure is
// not reported, because the next rotation tries again.
func (r *rotating) tidy(ctx context.Context) {
	oldest := time.Now().AddDate(0, 0, -r.c.MaxAge)
	for i, at := range r.times() {
		name := r.name(at)
		switch {
		case r.c.MaxBackups > 0 && i >= r.c.MaxBackups, r.c.MaxAge > 0 && at.Before(oldest):
			_ = os.Remove(name)
			_ = os.Remove(name + gzipped)
		case r.c.Compress && ctx.Err() == nil:
			_ = compress(ctx, name)
		}
	}
}

// times returns the times of the rotated files, whether compressed or not, the newest first.
func (r *rotating) times() []time.Time {
	folder := filepath.Dir(r.prefix)
	entries, _ := os.ReadDir(folder)
	var times []time.Time
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		at, ours := r.timeOf(path)
		if !ours {
			at, ours = r.timeOf(strings.TrimSuffix(path, gzipped))
		}
		if ours && !e.IsDir() {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	return slices.Compact(times)
}

// compress replaces a file by its .gz with the same mode. It does nothing if the file is not there.
// After a failure, and when ctx ends, the file stays and the .gz does not.
func compress(ctx context.Context, name string) (err error) {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	defer context.AfterFunc(ctx, func() { from.Close() })() // ends the copying
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(name+gzipped, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(to)
	_, err = io.Copy(zip, from)
	if err = errors.Join(err, zip.Close(), to.Sync(), to.Close()); err != nil {
		return errors.Join(err, os.Remove(name+gzipped))
	}
	return os.Remove(name)
}
