package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/coracle-project/coracle/storage"
)

// lockPatience is far more than a child needs to begin its own program.
const lockPatience = 2 * time.Second

var errLocked = errors.New("the data directory is in use by another process")

// lockDir keeps other processes out of a directory.
func lockDir(ctx context.Context, dir string) (*fileutil.LockedFile, error) {
	return unlocked(ctx, func() (*fileutil.LockedFile, error) {
		return fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	})
}

// unlocked opens what may be locked for a moment: a child that was forked while it was open before has its locks until it
// begins its own program.
func unlocked[T any](ctx context.Context, open func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errLocked)
	defer cancel()
	for {
		opened, err := open()
		if !errors.Is(err, fileutil.ErrLocked) {
			return opened, err
		}
		if storage.Sleep(ctx, time.Millisecond) != nil {
			return opened, context.Cause(ctx)
		}
	}
}
