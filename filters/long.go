package filters

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// DefragmentPath is the path at which a server is told to defragment its databases.
const DefragmentPath = "/debug/defragment"

// LongRunning reports whether a request looks long-running: watches, proxied and streamed
// connections, logs, profiles, defragmentation. Whether the request may last is decided by Long,
// after its authorization.
func LongRunning(info *request.Info) bool {
	if !info.IsResource {
		return strings.HasPrefix(info.Path, "/debug/pprof/") || info.Path == DefragmentPath
	}
	switch info.Verb {
	case "watch", "proxy":
		return true
	}
	switch info.Subresource {
	case "attach", "exec", "proxy", "log", "portforward":
		return true
	}
	return false
}

// Long lets a long-running request last once it is authorized: it takes a seat for Lasting, counts
// the request as running in m, lifts the deadline of the request's context, and ends the request
// when the Drain closes. The deadlines of the connection are lifted later (router.Lift), by the
// handler that streams, because the object asked for may not exist.
// Order: after Authorize. Cost: two allocations for a long-running request, nothing for others.
func Long(gate Gate, d *Drain, m *Metrics, long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		lasting := d.lasting(next)
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			x.response.authorized = true
			if !long(&x.info) {
				next(w, r)
				return
			}
			x.SetDeadline(time.Time{})
			if seat, ok := askSeat(gate, Lasting, fail, w, r); ok {
				x.holdLasting(seat)
				defer x.leaveSeats()
				m.begin(x, r)
				lasting(w, r)
			}
		}
	}
}

// lasting counts long-running requests, and ends their contexts when d closes.
func (d *Drain) lasting(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.long.Add(1)
		if d.OnLongRunning != nil {
			d.OnLongRunning()
		}
		defer d.long.Add(-1)
		defer context.AfterFunc(d.open, d.endWithSpread(exchangeOf(r).End))()
		next(w, r)
	}
}

// endWithSpread returns the function that ends a request when d closes: end itself, or, with a
// Spread, a function that calls end after a random part of it. By then the request may have ended
// already, which does no harm.
func (d *Drain) endWithSpread(end func()) func() {
	if d.Spread <= 0 {
		return end
	}
	return func() { time.AfterFunc(rand.N(d.Spread), end) }
}
