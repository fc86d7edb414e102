package embedded

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// trimThreshold is how many bytes the resident part of mapped files may grow after a trim until the
// next.
const trimThreshold = 16 << 20

// trimmer keeps the mapping of the database file out of the resident memory of the process.
//
// The kernel maps the whole file at the start, and commits, compactions, lists and reads of old
// history leave their pages resident until memory is short. Releasing the pages gives the machine
// no memory, because they stay in the page cache, as they would for reads without a mapping. But
// the process then looks as small as it is. It costs a minor fault at the next use of a page.
//
// Releasing a range that has been unmapped and reused would destroy memory. The database is mapped
// anew only when a copy replaces it, during which nothing is trimmed (without), or when it outgrows
// its mapping, which is larger than the quota. Close unmaps it, after the goroutines that trim have
// ended. As a further safeguard a file of more than half its mapping is not trimmed. A file that
// has been replaced has no name, and is not trimmed.
type trimmer struct {
	path string
	busy sync.Mutex   // held while pages are released, or while the mapping may change
	base atomic.Int64 // resident bytes of mapped files after the last trim
	seen int64        // resident bytes of mapped files at the last call of atRest
}

// newTrimmer returns a trimmer for the file at path, which need not exist or be mapped yet.
func newTrimmer(path string) *trimmer {
	t := &trimmer{path: path}
	t.base.Store(mappedResident())
	return t
}

// look trims if the resident part of mapped files has grown by trimThreshold.
func (t *trimmer) look() {
	if mappedResident()-t.base.Load() > trimThreshold {
		t.trim()
	}
}

// atRest trims if pages have become resident since the last trim, and none since the last call. One
// goroutine calls it, from time to time.
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

// trim releases the pages of the mapping. If anything goes wrong, it does nothing.
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
