package router

import (
	"sync/atomic"
	"time"
)

// Watches of a busy server wait flushGap between two flushes, so that events which come in a burst go out together: a
// flush for each event at each watcher would cost more than all else. Busy is a server that flushes more than
// busyFlushes times in a paceWindow; else every event goes out at once.
const (
	flushGap    = 4 * time.Millisecond
	paceWindow  = 10 * time.Millisecond
	busyFlushes = 50
)

// pace counts the flushes of all watches of a server. The zero pace is ready to use; all methods may be called at once.
type pace struct {
	began atomic.Int64 // of the window, in Unix nanoseconds
	count atomic.Int64 // of flushes in the window
	busy  atomic.Bool  // the last window was
}

// flushed counts a flush.
func (p *pace) flushed(now time.Time) {
	count, began := p.count.Add(1), p.began.Load()
	if count > busyFlushes {
		p.busy.Store(true)
	}
	if now.UnixNano()-began > int64(paceWindow) && p.began.CompareAndSwap(began, now.UnixNano()) {
		p.busy.Store(count > busyFlushes)
		p.count.Store(0)
	}
}

// pause is how long a watch that flushed last at the given time waits before it looks for events.
func (p *pace) pause(last time.Time) time.Duration {
	if !p.busy.Load() {
		return 0
	}
	return flushGap - time.Since(last)
}
