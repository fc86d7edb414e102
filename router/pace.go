package router

import (
	"sync/atomic"
	"time"
)

// On a busy server a watch waits flushGap between two flushes, so that events which arrive in a
// burst are sent together: a flush for each event to each watcher would cost more than everything
// else. A server is busy if its watches flush more than busyFlushes times in a paceWindow.
// Otherwise every event is sent at once.
const (
	flushGap    = 4 * time.Millisecond
	paceWindow  = 10 * time.Millisecond
	busyFlushes = 50
)

// pace counts the flushes of all watches of a server. The zero value is ready to use. All methods
// may be called concurrently; races between them only shift the window a little.
type pace struct {
	began atomic.Int64 // start of the window, in Unix nanoseconds
	count atomic.Int64 // flushes in the window
	busy  atomic.Bool  // the last window had more than busyFlushes
}

// flushed counts a flush and begins a new window if the current one is over.
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

// pause returns how long a watch whose last flush was at last must wait before it asks for events.
func (p *pace) pause(last time.Time) time.Duration {
	if !p.busy.Load() {
		return 0
	}
	return flushGap - time.Since(last)
}
