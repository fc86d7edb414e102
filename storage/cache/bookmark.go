package cache

import (
	"math/rand/v2"
	"time"
)

// bookmarks decides when a watcher gets a bookmark: after an interval in which nothing was sent,
// and once shortly before the request ends (KEP-956). Watcher.Next owns it.
type bookmarks struct {
	interval time.Duration
	begun    time.Time
	last     time.Time // when something was last sent
	before   time.Time // when the last bookmark is due, whatever was sent before; zero if none is due
	timer    *time.Timer
}

// begin starts the first interval.
func (b *bookmarks) begin(cfg *Config) {
	// Each watcher takes up to a quarter off the interval, so that watchers do not wake together.
	b.interval = cfg.BookmarkInterval - time.Duration(rand.Int64N(int64(cfg.BookmarkInterval)/4+1))
	b.begun = time.Now()
	b.last = b.begun
}

// deadline plans the last bookmark before t, the end of the request: two seconds before t, or in
// the middle of the watch if the watch lasts less than four seconds.
func (b *bookmarks) deadline(t time.Time) {
	if lasts := t.Sub(b.begun); lasts > 0 {
		b.before = t.Add(-min(2*time.Second, lasts/2))
	}
}

// sent notes that something was sent. wanted is false for a watcher that asked for no bookmarks.
// Anything that is sent at or after the planned last bookmark replaces that bookmark.
func (b *bookmarks) sent(wanted bool) {
	if !wanted {
		return
	}
	b.last = time.Now()
	if !b.last.Before(b.before) {
		b.before = time.Time{}
	}
}

// due returns a channel that is readable when the next bookmark is due.
func (b *bookmarks) due() <-chan time.Time {
	at := b.last.Add(b.interval)
	if !b.before.IsZero() && b.before.Before(at) {
		at = b.before
	}
	if d := time.Until(at); b.timer == nil {
		b.timer = time.NewTimer(d)
	} else {
		b.timer.Reset(d)
	}
	return b.timer.C
}
