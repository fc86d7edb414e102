package embedded

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// Segments of the log. etcd's log allocates the next segment in full before it needs it, in the
// file 0.tmp or 1.tmp. Once an allocation has failed it never tries again, and fails when it needs
// the segment. It uses a segment that it finds at the start, and deletes it at the end. A store
// must be able to start however full the disk has become, so a segment is left in the directory
// from one run to the next.

// segmentBytes is the size of a segment. Two are allocated at the first start.
const segmentBytes = 8 << 20

// claimSegment makes sure that a member that is about to start in dir will have the next segment of
// its log. It returns an error if the disk has no room for it.
func claimSegment(dir string) error {
	if limit := fileLimit(); limit < segmentBytes+firstBytes {
		return fmt.Errorf("files may not grow beyond %d bytes (ulimit -f), and the log needs %d", limit,
			segmentBytes+firstBytes)
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

// firstBytes is what a first start needs besides the log.
const firstBytes = 1 << 20

// leaveSegment allocates the segment for the next start. If that fails, the next start reports it.
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

// logBytes returns how many bytes of the disk the log occupies.
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
