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

// lockPatience is how long to wait for a lock. It is much longer than a forked child needs until it
// runs its own program.
const lockPatience = 2 * time.Second

var errLocked = errors.New("the data directory is in use by another process")

// lockDir locks a data directory against other processes.
func lockDir(ctx context.Context, dir string) (*fileutil.LockedFile, error) {
	return openUnlocked(ctx, func() (*fileutil.LockedFile, error) {
		return fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_WRONLY, 0o600)
	})
}

// openUnlocked calls open, and again while the file is locked, for up to lockPatience. A lock may
// last a little longer than its owner: a child process that was forked while the file was open
// holds the lock until it runs its own program.
func openUnlocked[T any](ctx context.Context, open func() (T, error)) (T, error) {
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
