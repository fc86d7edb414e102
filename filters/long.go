package filters

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
)

// DefragmentPath is where a server is told to defragment the databases that it stores in.
const DefragmentPath = "/debug/defragment"

// LongRunning reports whether a request may live for as long as its client likes: watches, proxied
// and streamed connections, logs, profiles, and defragmentations. This is only what it looks like.
// Whether it does live is decided behind Long.
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

// Long lets a long-running request last once it is authorized: it takes a seat for Lasting, lifts
// the deadline of the request's context, and ends the request with the server. The handler that
// streams lifts the deadlines of the connection (router.Lift), because there may be nothing for
// what was asked for.
// Order: after Authorize. Cost of a long-running request: two allocations, to end with the server;
// of others nothing.
func Long(gate Gate, d *Drain, long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		lasting := d.lasting(next)
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			x.response.authorized = true
			if !long(&x.info) {
				next(w, r)
				return
			}
			x.SetDeadline(time.Time{})
			if seat, ok := askSeat(gate, Lasting, fail, w, r); ok {
				x.last(seat)
				defer x.leave()
				lasting(w, r)
			}
		}
	}
}

// lasting serves requests that end with d at the latest.
func (d *Drain) lasting(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.long.Add(1)
		if d.Stays != nil {
			d.Stays()
		}
		defer d.long.Add(-1)
		defer context.AfterFunc(d.open, d.ending(of(r).End))()
		next(w, r)
	}
}

// ending returns what ends a request when d is closed: end itself, or end at some time of the spread. A request may have ended when it is
// called.
func (d *Drain) ending(end func()) func() {
	if d.Spread <= 0 {
		return end
	}
	return func() { time.AfterFunc(rand.N(d.Spread), end) }
}
