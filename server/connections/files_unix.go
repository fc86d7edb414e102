//go:build unix

package connections

import (
	"math"
	"syscall"
)

// maxFiles returns the number of file descriptors that the process may open.
func maxFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}
