package cache

import (
	"math/rand/v2"
	"time"
)

// bookmarks tells when a watcher is to get a bookmark.
type bookmarks struct {
	interval time.Duration
	begun    time.Time
	last     time.Time // when Next last returned something
	before   time.Time // when to send one whatever happens; zero for never
	timer    *time.Timer
}

func (b *bookmarks) begin(cfg *Config) {
	// Spread, so that watchers do not wake together.
	b.interval = cfg.BookmarkInterval - time.Duration(rand.Int64N(int64(cfg.BookmarkInterval)/4+1))
	b.begun = time.Now()
	b.last = b.begun
}

// deadline has one sent two seconds before t, or half way to it if that is nearer.
func (b *bookmarks) deadline(t time.Time) {
	if lasts := t.Sub(b.begun); lasts > 0 {
		b.before = t.Add(-min(2*time.Second, lasts/2))
	}
}

// sent notes that something has been sent.
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
