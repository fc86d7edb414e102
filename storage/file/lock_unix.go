//go:build unix

package file

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock that keeps a second process out. The kernel releases it when the process dies.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
