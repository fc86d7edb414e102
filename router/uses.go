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

// This file counts the requests inside a resource, so that its store can be closed after the
// resource was removed (a definition deleted, a version no longer served). RESTRouter counts;
// package server waits on a Retired.

// uses counts the requests inside one installed resource.
//
// A request first finds a resource and is then counted. If the resource was retired in between, the
// count says so, and the request starts again: it finds the resource that came in its place, or
// none.
type uses struct {
	count   atomic.Int64 // requests inside, plus retired
	once    sync.Once
	drained chan struct{} // closed once it is retired and no request is inside
	// watches are the running watches of the resource in its version. A resource that replaces this
	// one takes the list over.
	watches *watchList
}

// watchList lists running watches. The mutex guards all fields.
type watchList struct {
	sync.Mutex
	first *countedCursor
	ended bool
}

// retired is added to the count of a retired resource. It is far above any number of requests.
const retired = 1 << 62

// newUses returns the count of a new resource. before is the count of the resource that the new one
// replaces, or nil.
func newUses(before *uses) *uses {
	u := &uses{drained: make(chan struct{})}
	if before != nil {
		u.watches = before.watches
	} else {
		u.watches = &watchList{}
	}
	return u
}

// enter counts a request in. It returns false, and does not count, if the resource has been
// retired.
func (u *uses) enter() bool {
	if u.count.Add(1) < retired {
		return true
	}
	u.leave()
	return false
}

// leave counts a request out.
func (u *uses) leave() {
	if u.count.Add(-1) == retired {
		u.once.Do(func() { close(u.drained) })
	}
}

// retire makes enter refuse. It is called once.
func (u *uses) retire() {
	if u.count.Add(retired) == retired {
		u.once.Do(func() { close(u.drained) })
	}
}

// isRetired reports whether retire was called.
func (u *uses) isRetired() bool { return u.count.Load() >= retired }

// Retired are resources that have been removed: new requests do not find them.
type Retired []*uses

// Inside returns those resources that still have requests inside, watches not counted.
func (r Retired) Inside() Retired {
	return slices.DeleteFunc(slices.Clone(r), func(u *uses) bool {
		select {
		case <-u.drained:
			return true
		default:
			return false
		}
	})
}

// Wait returns nil when no request is inside any of the resources, or ctx's error. It does not wait
// for watches, which end when their store is closed.
func (r Retired) Wait(ctx context.Context) error {
	for _, u := range r {
		select {
		case <-u.drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Watched reports whether any of the resources has running watches.
func (r Retired) Watched() bool {
	return slices.ContainsFunc(r, func(u *uses) bool {
		u.watches.Lock()
		defer u.watches.Unlock()
		return u.watches.first != nil
	})
}

// EndWatches ends all watches on the resources, and every watch on them that begins later. Events
// that these watches have not sent are lost.
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

// counted wraps the handler of a verb and counts its requests.
type counted struct {
	uses *uses
	next http.Handler
	late http.Handler // serves a request that found the resource retired; nothing of the request's body has been read
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

// countedWatcher makes watches that leave the count once they run, because a watch would hold up
// Retired.Wait for ever.
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

// countedCursor is the cursor of such a watch.
type countedCursor struct {
	request.EventCursor
	uses *uses
	out  bool // not in the count; from the first Next to Close

	// The fields below are guarded by uses.watches.

	end            func() // ends the watch; nil: not in the list
	previous, next *countedCursor
}

// list puts the cursor into the list of running watches. end ends the watch.
func (c *countedCursor) list(end func()) {
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

// unlist removes the cursor from the list.
func (c *countedCursor) unlist() {
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

// Next implements request.EventCursor. If the resource was retired and the cursor fails, the watch
// ends with io.EOF: the client watches again and sees the new state.
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

// Close implements request.EventCursor. It counts the request in again, because the handler, which
// returns next, counts it out.
func (c *countedCursor) Close() {
	c.EventCursor.Close()
	c.unlist()
	if c.out {
		c.uses.count.Add(1)
	}
}
