package filters

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Drain knows the requests that are being served, and can see them out. All methods may be called at once.
type Drain struct {
	short, long atomic.Int64
	closing     atomic.Bool
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
func (d *Drain) Running() (short, long int64) { return d.short.Load(), d.long.Load() }

// Close turns new requests away, ends the long-running ones through their contexts, and returns when all requests
// have been served, or with ctx's error if that ends first. It may be called again.
func (d *Drain) Close(ctx context.Context) error {
	d.closing.Store(true)
	d.shut()
	for d.short.Load()+d.long.Load() > 0 {
		select {
		case <-d.left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leave is called when a request is done that count counts.
func (d *Drain) leave(count *atomic.Int64) {
	count.Add(-1)
	if d.closing.Load() {
		select {
		case d.left <- struct{}{}:
		default:
		}
	}
}

// Filter counts requests in and out. Once d is closing, new ones get 503 with Retry-After: 1 (seconds) on a
// connection that is closed, so that the client finds another server.
// Order: after Info, which long reads. Cost: two atomic adds; for long-running requests a context.
func (d *Drain) Filter(long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			count := &d.short
			isLong := long(&of(r).info)
			if isLong {
				count = &d.long
			}
			// Counted first and asked second: Close does it the other way round, so one of the two sees the other.
			count.Add(1)
			defer d.leave(count)
			if d.closing.Load() {
				w.Header().Set("Retry-After", "1")
				w.Header().Set("Connection", "close")
				fail(w, r, meta.NewServiceUnavailable("The apiserver is shutting down, please try again later."))
				return
			}
			if isLong {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				defer context.AfterFunc(d.open, cancel)()
				r = r.WithContext(ctx)
			}
			next.ServeHTTP(w, r)
		})
	}
}
