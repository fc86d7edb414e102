package filters

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
)

// Drain counts the requests that are being served, refuses new ones during a shutdown, and waits
// for the others to end. All methods may be called concurrently.
type Drain struct {
	// OnLongRunning, if set, is called for each long-running request that begins. It is set before
	// the first request.
	OnLongRunning func()
	// Spread is the time over which Close ends the long-running requests, at random moments, so
	// that their clients do not all reconnect at once. 0 ends them together. It is set before the
	// first request.
	Spread time.Duration

	all, long atomic.Int64 // requests being served; all includes long
	state     atomic.Int32 // letting, refusing or draining
	// left gets a token when a request ends during a shutdown (refusing or draining); wait then
	// counts again.
	left chan struct{}
	// open is the context that Close cancels by shut, and with it every long-running request.
	open context.Context
	shut context.CancelFunc
}

// NewDrain returns a Drain that admits requests.
func NewDrain() *Drain {
	open, shut := context.WithCancel(context.Background())
	return &Drain{left: make(chan struct{}, 1), open: open, shut: shut}
}

// Running returns how many short and how many long-running requests are being served.
func (d *Drain) Running() (short, long int64) {
	all, long := d.all.Load(), d.long.Load()
	return max(all-long, 0), long
}

// The states of a Drain. The state only moves forward.
const (
	letting  int32 = iota
	refusing       // since Refuse
	draining       // since Close
)

// Refuse makes Filter answer new requests with 429, and returns when all short requests have ended,
// or with ctx's error if that ends first. Long-running requests go on, and health checks and
// metrics are still served. It may be called once, before Close.
func (d *Drain) Refuse(ctx context.Context) error {
	d.state.Store(refusing)
	return d.wait(ctx, func() bool {
		short, _ := d.Running()
		return short > 0
	})
}

// Close makes Filter answer new requests with 503, ends the contexts of long-running requests, and
// returns when all requests have ended, or with ctx's error if that ends first. It may be called
// again.
func (d *Drain) Close(ctx context.Context) error {
	d.state.Store(draining)
	d.shut()
	return d.wait(ctx, func() bool { return d.all.Load() > 0 })
}

// wait returns when busy returns false, or with ctx's error.
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

// leave counts a request out.
func (d *Drain) leave() {
	d.all.Add(-1)
	if d.state.Load() != letting {
		select {
		case d.left <- struct{}{}:
		default:
		}
	}
}

// Filter counts requests in and out. While d refuses, a new request gets 429 with Retry-After: 5,
// in kube-apiserver's words; after Close it gets 503 with Retry-After: 1 (seconds). Both close the
// connection, so that the client finds another server. Filter counts all requests alike; Long
// counts the long-running ones among them.
// Order: before any work. Cost: two atomic adds.
func (d *Drain) Filter(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			// The request is counted before the state is read. Close sets the state before it reads
			// the count. So either Close waits for this request, or this request sees the state.
			d.all.Add(1)
			defer d.leave()
			switch state := d.state.Load(); {
			case state == letting, state == refusing && isObservation(r.URL.Path):
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

// isObservation reports whether operators observe the server by path: health checks and metrics.
func isObservation(path string) bool {
	for _, prefix := range []string{"/readyz", "/livez", "/healthz", "/metrics"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
