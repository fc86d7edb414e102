package filters

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Drain knows the requests that are being served, and can see them out. All methods may be called at once.
type Drain struct {
	// Stays is told of each long-running request that begins. It is fixed before the first; nil: nobody is told.
	Stays func()
	// Spread is the time over which long-running requests are ended, evenly, so that not all clients come to another server at
	// once. It is fixed before the first; 0: all are ended together.
	Spread time.Duration

	all, long atomic.Int64 // long ones are among all
	state     atomic.Int32 // draining or refusing
	// A token says that somebody left while draining; who waits counts again.
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

// The states of a Drain, in the order in which it goes through them.
const (
	letting  int32 = iota
	refusing       // since Refuse
	draining       // since Close
)

// Refuse answers new requests with 429 and returns when all short ones have been served, or with ctx's error if that ends first.
// Long-running ones go on, and health and metrics are served. It may be called once, before Close.
func (d *Drain) Refuse(ctx context.Context) error {
	d.state.Store(refusing)
	return d.wait(ctx, func() bool {
		short, _ := d.Running()
		return short > 0
	})
}

// Close turns new requests away, ends the long-running ones through their contexts, and returns when all requests
// have been served, or with ctx's error if that ends first. It may be called again.
func (d *Drain) Close(ctx context.Context) error {
	d.state.Store(draining)
	d.shut()
	return d.wait(ctx, func() bool { return d.all.Load() > 0 })
}

// wait returns when there is nobody to wait for.
func (d *Drain) wait(ctx context.Context, busy func() bool) error {
	for busy() {
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
	if d.state.Load() != letting {
		select {
		case d.left <- struct{}{}:
		default:
		}
	}
}

// Filter counts requests in and out. Once d is closed, new ones get 503 with Retry-After: 1 (seconds) on a
// connection that is closed, so that the client finds another server; while it refuses them, 429 with Retry-After: 5, as
// kube-apiserver words it. Long-running ones are known in Long only.
// Order: before any work. Cost: two atomic adds.
func (d *Drain) Filter(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			// Counted first and asked second: Close does it the other way round, so one of the two sees the other.
			d.all.Add(1)
			defer d.leave()
			switch state := d.state.Load(); {
			case state == letting, state == refusing && observes(r.URL.Path):
				next(w, r)
			case state == refusing:
				w.Header().Set("Retry-After", "5")
				w.Header().Set("Connection", "close")
				http.Error(w, shuttingDown, http.StatusTooManyRequests)
			default:
				w.Header().Set("Retry-After", "1")
				w.Header().Set("Connection", "close")
				fail(w, r, meta.NewServiceUnavailable(shuttingDown))
			}
		}
	}
}

const shuttingDown = "The apiserver is shutting down, please try again later."

// observes reports whether somebody at a path looks how the server is.
func observes(path string) bool {
	for _, prefix := range []string{"/readyz", "/livez", "/healthz", "/metrics"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
