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

// Long lets long-running requests be so, which all are kept from that come from those who may not make them: it
// takes their place among the long-running ones, lifts the deadline of their context, and has it end when the server
// does. The deadlines of the connection are lifted by the handler that streams (router.Lift): there may be none for what
// was asked for.
// Order: after Authorize. Cost of a long-running request: two allocations, to end with the server; of others nothing.
func Long(f *InFlight, d *Drain, long func(*request.Info) bool, fail ErrorWriter) Filter {
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
			running, limit := f.room(x, true)
			serveIn(running, limit, lasting, fail, w, r)
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
