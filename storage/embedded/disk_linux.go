package embedded

import (
	"os"
	"syscall"
)

// space returns how many bytes may still be written to the file system of dir, and its size. A file
// system that cannot create files has no space, because the log needs new ones. A number that the
// system does not tell is returned as unbounded.
func space(dir string) (free, size int64) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return unbounded, unbounded
	}
	size = int64(s.Blocks) * int64(s.Frsize)
	if s.Files > 0 && s.Ffree < fewFiles {
		return 0, size
	}
	return int64(s.Bavail) * int64(s.Frsize), size
}

// fewFiles is more than the number of files that the server creates at once.
const fewFiles = 16

// fileLimit returns the size in bytes to which a file of this process may grow, or unbounded.
func fileLimit() int64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil || l.Cur > unbounded {
		return unbounded
	}
	return int64(l.Cur)
}

// allocated returns how many bytes of the disk a file occupies, 0 if it does not exist.
func allocated(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return 0
}
