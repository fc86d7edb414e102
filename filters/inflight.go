package filters

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// InFlight is a Gate that bounds how many requests run at once, separately for reading (get, list),
// writing and long-running requests. A request over a limit is refused at once. A long-running
// request takes its seat after it has been authorized.
//
// Strangers have seats of their own, a quarter as many, so they never take the seat of an
// authenticated user. Health checks need no seat, and members of system:masters always get one, so
// that an operator can see what is wrong.
type InFlight struct {
	limits           Limits
	users, strangers counts
}

// Limits are the numbers of requests that InFlight lets run at once. Zero means no limit.
type Limits struct{ Reads, Writes, Long int64 }

// counts are the running requests of authenticated users, or of strangers.
type counts struct{ reads, writes, long count }

// count is the number of requests that hold a seat of one sort. It is itself the Seat of each of
// them.
type count struct{ atomic.Int64 }

// Leave implements Seat.
func (c *count) Leave() { c.Add(-1) }

// strangersShare: strangers have limit/strangersShare seats, and at least one.
const strangersShare = 4

// NewInFlight returns an InFlight that shows the running requests in reg, which may be nil.
func NewInFlight(limits Limits, reg prometheus.Registerer) *InFlight {
	f := &InFlight{limits: limits}
	show := func(kind string, known, strangers *count) {
		register(reg, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "apiserver_current_inflight_requests",
			Help:        "Number of running requests, without long-running ones, by kind (readOnly or mutating).",
			ConstLabels: prometheus.Labels{"request_kind": kind}},
			func() float64 { return float64(known.Load() + strangers.Load()) }))
	}
	show("readOnly", &f.users.reads, &f.strangers.reads)
	show("mutating", &f.users.writes, &f.strangers.writes)
	return f
}

// Separate implements Gate. The other gate has as many seats as this one.
func (f *InFlight) Separate() Gate { return &InFlight{limits: f.limits} }

// Seat implements Gate. It never waits. Cost: an atomic add, and another when the seat is left.
func (f *InFlight) Seat(_ context.Context, info *request.Info, phase Phase) (Seat, error) {
	if phase == Beginning || phase == Short && isHealth(info) {
		return nil, nil
	}
	running, limit := f.countOf(info, phase)
	if running.Add(1) > limit && limit > 0 && !isInMasters(info.User) {
		running.Add(-1)
		return nil, meta.NewTooManyRequests("Too many requests, please try again later.", 1)
	}
	return running, nil
}

// countOf returns the count for info's request in a phase, and its limit.
func (f *InFlight) countOf(info *request.Info, phase Phase) (running *count, limit int64) {
	users, stranger := &f.users, isStranger(info.User)
	if stranger {
		users = &f.strangers
	}
	switch {
	case phase == Lasting:
		running, limit = &users.long, f.limits.Long
	case info.Verb == "get" || info.Verb == "list":
		running, limit = &users.reads, f.limits.Reads
	default:
		running, limit = &users.writes, f.limits.Writes
	}
	if stranger && limit > 0 {
		limit = max(limit/strangersShare, 1)
	}
	return running, limit
}

// isStranger reports whether u is not authenticated: anonymous, or not known yet (nil).
func isStranger(u *request.User) bool { return u == nil || u.InGroup(request.GroupUnauthenticated) }

// isInMasters reports whether u is a member of system:masters.
func isInMasters(u *request.User) bool { return u != nil && u.InGroup(request.GroupMasters) }

// isHealth reports whether the request is a health check.
func isHealth(info *request.Info) bool {
	for _, path := range [...]string{"/healthz", "/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(info.Path, path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
