package cache

import (
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Config sets the bounds of a Cache. The zero value is ready to use.
type Config struct {
	// Prefix is watched for all resources, default "/registry/". It ends in "/".
	Prefix string
	// WindowEvents is how many changes a resource remembers at most, default 10,000.
	WindowEvents int
	// WindowBytes bounds the objects that only the window of a resource holds, default 16 MiB; and as much again those of
	// the history before it, while watchers read that.
	WindowBytes int64
	// WindowAge is how long changes are remembered beyond the last 100, default 75 s.
	WindowAge time.Duration
	// Snapshots is how many past states of a resource are kept for lists that go on, default 16; SnapshotAge is how
	// long, default 5 min; SnapshotBytes bounds the objects that only they hold, default 16 MiB.
	Snapshots     int
	SnapshotAge   time.Duration
	SnapshotBytes int64
	// FormBytes bounds the other forms that are kept beside the objects of a resource, default 16 MiB. If the objects
	// themselves are larger than that in total, the forms may be as large as they.
	FormBytes int64
	// BookmarkInterval is how long a watcher hears nothing before it gets a bookmark, default 1 min.
	BookmarkInterval time.Duration
	// MaxWait is how long a read waits for its revision, default 3 s.
	MaxWait time.Duration
	// Hooks are told what happens.
	Hooks Hooks
}

// Hooks are functions called on events, each nil or safe for concurrent use. They must return soon.
type Hooks struct {
	// Loaded: a resource has been read from the store.
	Loaded func(resource string, objects int, took time.Duration)
	// LoadFailed: it could not be; the next use tries again.
	LoadFailed func(resource string, err error)
	// WatchFailed: the watch on the store ended and is made anew. With Compacted all resources are loaded again.
	WatchFailed func(err error)
	// DecodeFailed: a stored object, which err names, has been found to be unreadable. Reading it fails with the same error
	// until it is overwritten or deleted. It may be found again.
	DecodeFailed func(resource string, err *storage.Error)
	// Evicted: a watcher fell behind the window.
	Evicted func(resource string)
}

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
