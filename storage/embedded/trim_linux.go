package embedded

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// trimThreshold is how many bytes of mapped files may be resident beyond those after the last trim.
const trimThreshold = 16 << 20

// trimmer keeps the database's mapping out of the resident memory.
//
// The database file is mapped; the kernel maps all of it at the start, and later commits, compaction, lists and reads of old
// history leave their pages there until memory is short. Letting go of them gives the machine nothing back, because they
// stay in the page cache, as they would for reads without a mapping; it makes the process look as small as it is, and costs
// a minor fault at the next use.
//
// Letting go of a range that has been unmapped and used for something else would destroy memory.
// The database is mapped anew only when a copy takes its place, during which nothing is trimmed
// (without), or when it outgrows its mapping, which is larger than the quota. It is unmapped by
// Close, which ends those who trim first. A file of more than half its mapping is left alone
// nevertheless. A file that has been replaced has no name any more, and is not trimmed.
type trimmer struct {
	path string
	busy sync.Mutex   // held while the mapping is let go of, or may change
	base atomic.Int64 // bytes of mapped files after the last trim
	seen int64        // at the last call of atRest
}

// newTrimmer trims the mapping of the file at path, where none need be yet.
func newTrimmer(path string) *trimmer {
	t := &trimmer{path: path}
	t.base.Store(mappedResident())
	return t
}

// look trims if the mapping has grown.
func (t *trimmer) look() {
	if mappedResident()-t.base.Load() > trimThreshold {
		t.trim()
	}
}

// atRest trims whatever has become resident since the last trim, if nothing has since the last
// call. It is for one goroutine, which calls it from time to time.
func (t *trimmer) atRest() {
	now := mappedResident()
	if now == t.seen && now > t.base.Load() {
		t.trim()
	}
	t.seen = now
}

// without runs fn, which may change the mapping, while nothing is trimmed.
func (t *trimmer) without(fn func() error) error {
	t.busy.Lock()
	defer t.busy.Unlock()
	return fn()
}

// trim lets go of the pages. Whatever goes wrong, it does nothing.
func (t *trimmer) trim() {
	t.busy.Lock()
	defer t.busy.Unlock()
	defer func() { t.base.Store(mappedResident()) }()
	info, err := os.Stat(t.path)
	if err != nil {
		return
	}
	start, end, ok := mapping(t.path)
	if !ok || uint64(info.Size()) > uint64(end-start)/2 {
		return
	}
	syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
}

// mapping returns the addresses at which the file is mapped, if exactly once.
func mapping(path string) (start, end uintptr, ok bool) {
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, false
	}
	found := 0
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if !bytes.HasSuffix(line, []byte(" "+path)) {
			continue
		}
		if n, _ := fmt.Sscanf(string(line), "%x-%x r--s", &start, &end); n != 2 {
			return 0, 0, false
		}
		found++
	}
	return start, end, found == 1 && end > start
}

// mappedResident returns the resident bytes of mapped files in this process.
func mappedResident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	fmt.Sscan(string(data), &size, &resident, &shared)
	return shared * int64(os.Getpagesize())
}
