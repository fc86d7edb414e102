package embedded

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Copy copies the data of the directory from into the directory to, which must not exist. It writes
// nothing to from. It fails if a Store is open in from.
func Copy(ctx context.Context, to, from string) error {
	lock, err := openUnlocked(ctx, func() (*fileutil.LockedFile, error) {
		return fileutil.TryLockFile(filepath.Join(from, "lock"), os.O_WRONLY, 0)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist): // no Store has been opened there; data of an etcd can be copied, too
	case err != nil:
		return err
	default:
		defer lock.Close()
	}
	return os.CopyFS(to, os.DirFS(from))
}
