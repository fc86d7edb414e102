package reload

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Value is something read from files, and read again when they have changed. What cannot be read
// leaves the last good state in force. All methods may be called at once; readers never wait for
// files.
type Value[T any] struct {
	files   []string
	read    func() (*T, error)
	value   atomic.Pointer[T]
	checked atomic.Int64 // when the files were last looked at, in Unix nanoseconds

	checking sync.Mutex
	times    []time.Time // of the files behind value; guarded by checking
}

// NewValue reads a value from files for the first time.
func NewValue[T any](files []string, read func() (*T, error)) (*Value[T], error) {
	r := &Value[T]{files: files, read: read}
	r.times = r.modified()
	value, err := read()
	r.value.Store(value)
	r.checked.Store(time.Now().UnixNano())
	return r, err
}

func (r *Value[T]) modified() []time.Time {
	times := make([]time.Time, len(r.files))
	for i, f := range r.files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() { // a pipe is read once
			times[i] = info.ModTime()
		}
	}
	return times
}

// Get returns the present value. The caller that finds it time to look at the files does so; all
// others go on with what is there.
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
