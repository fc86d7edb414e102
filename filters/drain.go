package filters

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Drain knows the requests that are being served, and can see them out. All methods may be called at once.
type Drain struct {
	// Stays is told of each long-running request that begins. It is fixed before the first; nil: nobody is told.
	Stays func()

	all, long atomic.Int64 // long ones are among all
	closing   atomic.Bool
	// A token says that somebody left while closing; Close counts again.
	left chan struct{}
	// Ended by Close, and with it every long-running request.
	open context.Context
	shut context.CancelFunc
}

// NewDrain returns a Drain that lets requests in.
func NewDrain() *Drain {
	open, shut := context.WithCancel(context.Background())
	return &Drain{left: make(chan struct{}, 1), open: open, shut: shut}
}

// Running returns how many requests are being served, short and long-running ones.
func (d *Drain) Running() (short, long int64) {
	all, long := d.all.Load(), d.long.Load()
	return max(all-long, 0), long
}

// Close turns new requests away, ends the long-running ones through their contexts, and returns when all requests
// have been served, or with ctx's error if that ends first. It may be called again.
func (d *Drain) Close(ctx context.Context) error {
	d.closing.Store(true)
	d.shut()
	for d.all.Load() > 0 {
		select {
		case <-d.left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leave is called when a request is done.
func (d *Drain) leave() {
	d.all.Add(-1)
	if d.closing.Load() {
		select {
		case d.left <- struct{}{}:
		default:
		}
	}
}

// Filter counts requests in and out. Once d is closing, new ones get 503 with Retry-After: 1 (seconds) on a
// connection that is closed, so that the client finds another server. Long-running ones are known in Long only.
// Order: before any work. Cost: two atomic adds.
func (d *Drain) Filter(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			// Counted first and asked second: Close does it the other way round, so one of the two sees the other.
			d.all.Add(1)
			defer d.leave()
			if d.closing.Load() {
				w.Header().Set("Retry-After", "1")
				w.Header().Set("Connection", "close")
				fail(w, r, meta.NewServiceUnavailable("The apiserver is shutting down, please try again later."))
				return
			}
			next(w, r)
		}
	}
}
