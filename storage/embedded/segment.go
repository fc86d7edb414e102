package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/coracle-project/coracle/storage"
)

// The server allocates each segment of its log in full before it needs it, in the file 0.tmp or 1.tmp, and ends the
// process if there is none when it is needed: once it could not allocate one it never tries again. It takes one that it
// finds at the start, and deletes it at the end. So that a store that was open can be opened again, however full the disk
// has become meanwhile, a segment is left to it from one run to the next.

// segmentBytes is the size of a segment. Two are allocated at the first start.
const segmentBytes = 8 << 20

// claimSegment makes sure that the server which is to be started in dir will have the next segment of its log.
func claimSegment(dir string) error {
	if limit := fileLimit(); limit < segmentBytes+firstBytes {
		return fmt.Errorf("files may not grow beyond %d bytes (ulimit -f), and the log needs %d", limit, segmentBytes+firstBytes)
	}
	wal := walDir(dir)
	next, other := filepath.Join(wal, "0.tmp"), filepath.Join(wal, "1.tmp")
	need := int64(2*segmentBytes + firstBytes)
	if fileutil.Exist(wal) {
		if !fileutil.Exist(next) && fileutil.Exist(other) { // left by a process that was killed
			if err := os.Rename(other, next); err != nil {
				return err
			}
		}
		need = segmentBytes - allocated(next)
	}
	if free, _ := space(dir); free < need {
		return fmt.Errorf("the disk has %d bytes free, and %d are needed to start", free, need)
	}
	return nil
}

// awaitUnlocked returns when no file of the log in dir is locked: the server ends the process if it finds one that is. A child
// that was forked while the log was open before has its locks until it begins its own program.
func awaitUnlocked(ctx context.Context, dir string) error {
	files, err := filepath.Glob(filepath.Join(walDir(dir), "*.wal"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errLogLocked)
	defer cancel()
	for _, name := range files {
		for lockable(name) == fileutil.ErrLocked {
			if storage.Sleep(ctx, time.Millisecond) != nil {
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// lockPatience is far more than a child needs to begin its own program.
const lockPatience = 2 * time.Second

var errLogLocked = errors.New("the log is in use by another process")

// lockable returns fileutil.ErrLocked if a file is locked. It lets no child have the lock with which it finds out.
func lockable(name string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	lock, err := fileutil.TryLockFile(name, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return lock.Close()
}

// firstBytes is what a first start needs beside the log.
const firstBytes = 1 << 20

// leaveSegment allocates the next segment for the next start. If it fails, the next start tells.
func leaveSegment(dir string) {
	next := filepath.Join(walDir(dir), "0.tmp")
	f, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if err := fileutil.Preallocate(f, segmentBytes, true); err != nil {
		_ = os.Remove(next)
	}
}

func walDir(dir string) string { return filepath.Join(dir, "member", "wal") }

// logBytes returns the disk that the log occupies.
func logBytes(dir string) int64 {
	files, err := os.ReadDir(walDir(dir))
	if err != nil {
		return 0
	}
	var sum int64
	for _, f := range files {
		sum += allocated(filepath.Join(walDir(dir), f.Name()))
	}
	return sum
}
