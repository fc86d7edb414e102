//go:build unix

package file

import (
	"os"
	"syscall"
)

// lockFile takes the lock that keeps a second process out. The kernel releases it when the process
// dies.
func lockFile(root *os.Root, name string) (unlock func() error, err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f.Close, nil
}
