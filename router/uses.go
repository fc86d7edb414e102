package router

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
)

// uses counts the requests that are in an installed resource, so that what lies behind it can be closed when it has
// been taken out of service and none is left.
//
// A request finds a resource first and is counted second. If the resource was retired in between, the count says so, and
// the request starts again: it finds what has come in its place, or nothing.
type uses struct {
	count atomic.Int64 // requests inside, plus retired
	once  sync.Once
	empty chan struct{} // closed when it is retired and nobody is inside
	// watches are those of the resource in its version, also of what it was declared as before.
	watches *watchList
}

// watchList are the watches that run.
type watchList struct {
	sync.Mutex
	first *countedCursor
	ended bool
}

// retired is far above any number of requests.
const retired = 1 << 62

// newUses counts the requests in what comes in the place of another, nil if there was none.
func newUses(before *uses) *uses {
	u := &uses{empty: make(chan struct{})}
	if before != nil {
		u.watches = before.watches
	} else {
		u.watches = &watchList{}
	}
	return u
}

// enter counts a request in, and returns false, without counting it, if the resource has been retired.
func (u *uses) enter() bool {
	if u.count.Add(1) < retired {
		return true
	}
	u.leave()
	return false
}

func (u *uses) leave() {
	if u.count.Add(-1) == retired {
		u.once.Do(func() { close(u.empty) })
	}
}

// retire lets no more requests in. It is called once.
func (u *uses) retire() {
	if u.count.Add(retired) == retired {
		u.once.Do(func() { close(u.empty) })
	}
}

func (u *uses) isRetired() bool { return u.count.Load() >= retired }

// Retired are resources that have been taken out of service: new requests do not find them.
type Retired []*uses

// Inside returns those in which there are requests still, watches apart.
func (r Retired) Inside() Retired {
	return slices.DeleteFunc(slices.Clone(r), func(u *uses) bool {
		select {
		case <-u.empty:
			return true
		default:
			return false
		}
	})
}

// Wait returns when no request is in any of them, or with ctx's error. Watches are not waited for: they end when what
// they watch is closed.
func (r Retired) Wait(ctx context.Context) error {
	for _, u := range r {
		select {
		case <-u.empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Watched reports whether there are watches on any of them.
func (r Retired) Watched() bool {
	return slices.ContainsFunc(r, func(u *uses) bool {
		u.watches.Lock()
		defer u.watches.Unlock()
		return u.watches.first != nil
	})
}

// EndWatches ends the watches on all of them, and those that still begin. What they have not sent by then is lost.
func (r Retired) EndWatches() {
	for _, u := range r {
		u.watches.Lock()
		u.watches.ended = true
		for c := u.watches.first; c != nil; c = c.next {
			c.end()
		}
		u.watches.Unlock()
	}
}

// counted is the handler of a verb of a resource that may be retired.
type counted struct {
	uses *uses
	next http.Handler
	late http.Handler // serves a request that came too late; nothing of it has been read
}

// ServeHTTP implements http.Handler. Cost: two atomic adds.
func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !c.uses.enter() {
		c.late.ServeHTTP(w, r)
		return
	}
	defer c.uses.leave()
	c.next.ServeHTTP(w, r)
}

// countedWatcher lets watches out of the count as soon as they run.
type countedWatcher struct {
	Watcher
	uses *uses
}

// Watch implements Watcher.
func (c *countedWatcher) Watch(ctx context.Context, req *request.ListRequest) (request.EventCursor, error) {
	cursor, err := c.Watcher.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &countedCursor{EventCursor: cursor, uses: c.uses}, nil
}

type countedCursor struct {
	request.EventCursor
	uses *uses
	out  bool // of the count, until Close

	// Guarded by uses.watches.

	end            func() // ends the watch; nil: it is not listed
	previous, next *countedCursor
}

// run lists the cursor among the watches that run, which end ends.
func (c *countedCursor) run(end func()) {
	w := c.uses.watches
	w.Lock()
	defer w.Unlock()
	if w.ended {
		end()
		return
	}
	c.end, c.next = end, w.first
	if c.next != nil {
		c.next.previous = c
	}
	w.first = c
}

// stop takes the cursor off the list.
func (c *countedCursor) stop() {
	w := c.uses.watches
	w.Lock()
	defer w.Unlock()
	switch {
	case c.end == nil:
		return
	case c.previous == nil:
		w.first = c.next
	default:
		c.previous.next = c.next
	}
	if c.next != nil {
		c.next.previous = c.previous
	}
	c.end, c.previous, c.next = nil, nil, nil
}

// Next implements request.EventCursor. A watch that fails because its resource has been retired ends without a fault:
// the client comes again and sees what there is then.
func (c *countedCursor) Next(ctx context.Context) ([]request.Event, error) {
	if !c.out {
		c.out = true
		c.uses.leave()
	}
	events, err := c.EventCursor.Next(ctx)
	if err != nil && c.uses.isRetired() {
		err = io.EOF
	}
	return events, err
}

// Close implements request.EventCursor. The request is counted again, because its handler is about to leave.
func (c *countedCursor) Close() {
	c.EventCursor.Close()
	c.stop()
	if c.out {
		c.uses.count.Add(1)
	}
}
