package reload

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Value is a value that is made from files, such as a certificate and its key, and is made again
// after one of the files has changed. If that fails, the last good value stays. All methods may be
// called at once. One caller of Get at a time reads the files; the others do not wait for it.
type Value[T any] struct {
	files   []string
	read    func() (*T, error) // makes the value from the files
	value   atomic.Pointer[T]
	checked atomic.Int64 // time of the last check, in Unix nanoseconds

	checking sync.Mutex  // held during a check
	times    []time.Time // modification times of files when value was made from them; guarded by checking
}

// NewValue returns a Value that read makes from files. NewValue calls read once. If that fails,
// NewValue returns the error and also a Value, whose Get returns what read has returned. Get calls
// read again after the modification time of one of the files has changed.
func NewValue[T any](files []string, read func() (*T, error)) (*Value[T], error) {
	r := &Value[T]{files: files, read: read}
	r.times = r.modified()
	value, err := read()
	r.value.Store(value)
	r.checked.Store(time.Now().UnixNano())
	return r, err
}

// modified returns the modification times of the files. The time of a pipe, which is never read
// again, and of a file that cannot be found is zero.
func (r *Value[T]) modified() []time.Time {
	times := make([]time.Time, len(r.files))
	for i, f := range r.files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			times[i] = info.ModTime()
		}
	}
	return times
}

// Get returns the present value. If the last check was CheckEvery ago or longer, and no other
// caller is checking, Get first checks the files, and makes the value again if one of them has
// changed. If that fails, the next check tries again.
func (r *Value[T]) Get() *T {
	now := time.Now().UnixNano()
	if len(r.files) == 0 || now-r.checked.Load() < int64(CheckEvery) || !r.checking.TryLock() {
		return r.value.Load()
	}
	defer r.checking.Unlock()
	r.checked.Store(now)
	times := r.modified()
	if slices.EqualFunc(times, r.times, time.Time.Equal) {
		return r.value.Load()
	}
	if value, err := r.read(); err == nil {
		r.value.Store(value)
		r.times = times
	}
	return r.value.Load()
}
