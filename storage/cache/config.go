package cache

import (
	"context"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Config sets the bounds of a Cache. The zero value is ready to use.
type Config struct {
	// Prefix is watched for all resources, default "/registry/". It ends in "/".
	Prefix string
	// WindowEvents is the most changes that the window of a resource holds, default 10,000.
	WindowEvents int
	// WindowBytes bounds the objects that only the window of a resource holds, default 16 MiB. The
	// same number bounds, separately, the stretches of history that are kept while watchers resume
	// from before the window.
	WindowBytes int64
	// WindowAge is how long the window keeps a change, default 75 s. The last 100 changes are kept
	// at any age.
	WindowAge time.Duration
	// Snapshots is how many past states of a resource are kept for the next pages of lists, default
	// 16. SnapshotAge is how long one is kept after its last use, default 5 min. SnapshotBytes
	// bounds the objects that only snapshots hold, default 16 MiB.
	Snapshots     int
	SnapshotAge   time.Duration
	SnapshotBytes int64
	// FormBytes bounds the forms (see Object.Form) of a resource's objects, default 16 MiB. If the
	// objects are larger than that in total, the bound is their size instead.
	FormBytes int64
	// BookmarkInterval is the time without events after which a watcher gets a bookmark, default 1
	// min. Each watcher takes up to a quarter off.
	BookmarkInterval time.Duration
	// MaxWait is how long a read waits until the cache has seen its revision, default 3 s. Then the
	// store answers it.
	MaxWait time.Duration
	// Hooks are called when something happens that an operator may want to know.
	Hooks Hooks
}

// Hooks are functions that the cache calls on events. Each is nil or safe for concurrent use, and
// must return soon, because the stream may wait for it.
type Hooks struct {
	// Loaded is called when a resource has been read from the store.
	Loaded func(resource string, objects int, took time.Duration)
	// LoadFailed is called when a resource could not be read from the store. The next use of it
	// tries again.
	LoadFailed func(resource string, err error)
	// WatchFailed is called when the watch on the store has ended, or could not be opened, before
	// the next try. After Compacted all resources are loaded again.
	WatchFailed func(err error)
	// DecodeFailed is called when a stored object cannot be read; err names the object. Reads of it
	// fail with the same error until it is overwritten or deleted. The hook may be called more than
	// once for an object.
	DecodeFailed func(resource string, err *storage.Error)
	// Evicted is called when a watcher fell behind the window and was ended with Compacted.
	Evicted func(resource string)
	// Waited is called after a read of ctx has waited for the cache to be fresh enough, or for a
	// question to the store that it shares with other reads.
	Waited func(ctx context.Context, took time.Duration)
}

// fill sets each field that is zero or negative to its default.
func (c *Config) fill() {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	bytes := func(n *int64) {
		if *n <= 0 {
			*n = 16 << 20
		}
	}
	if c.Prefix == "" {
		c.Prefix = "/registry/"
	}
	if c.WindowEvents <= 0 {
		c.WindowEvents = 10_000
	}
	if c.Snapshots <= 0 {
		c.Snapshots = 16
	}
	bytes(&c.WindowBytes)
	bytes(&c.SnapshotBytes)
	bytes(&c.FormBytes)
	def(&c.WindowAge, 75*time.Second)
	def(&c.SnapshotAge, 5*time.Minute)
	def(&c.BookmarkInterval, time.Minute)
	def(&c.MaxWait, 3*time.Second)
}
