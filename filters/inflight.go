package filters

import (
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// InFlight bounds how many requests run at once, apart for reading (get, list), writing and long-running ones. A zero
// limit is none. The counts can be read at any time.
//
// Strangers, who have shown no credentials, have places of their own beside the others': a quarter as many. So they never
// take the place of somebody who is known. Health is answered without a place, and members of system:masters always get
// in: somebody must be able to see what is wrong.
//
// A refusal takes a place, too, while it is being written, so that those who do not read theirs are bounded.
type InFlight struct {
	Reads, Writes, Long int64 // limits, fixed after the first request

	known, strangers places
}

// places count the requests of one sort of users.
type places struct{ reads, writes, long, refusals atomic.Int64 }

const (
	// strangersShare is the part of each limit that strangers have.
	strangersShare = 4
	// maxRefusals bounds the refusals being written at once, of strangers and of others.
	maxRefusals = 256
	// manyGoroutines is from how many goroutines on some of them may be refusals that nobody reads.
	manyGoroutines = 1024
)

// Running returns how many reading and writing requests run.
func (f *InFlight) Running() (reads, writes int64) {
	return f.known.reads.Load() + f.strangers.reads.Load(), f.known.writes.Load() + f.strangers.writes.Load()
}

// isStranger reports whether nobody knows who sends a request, or not yet.
func isStranger(u *request.User) bool { return u == nil || u.InGroup(request.GroupUnauthenticated) }

// Filter answers requests over the limit with 429 and Retry-After: 1 (seconds). What looks long-running takes its place in
// Long, when it is clear that it may run. Of a stranger's body it bounds the time, as it does the number.
// Order: after Authenticate, to tell users apart. Cost: two atomic adds, no allocation.
func (f *InFlight) Filter(long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			if isStranger(x.info.User) {
				x.body.hurry()
			}
			if isHealth(&x.info) || long(&x.info) {
				next(w, r)
				return
			}
			running, limit := f.room(x, false)
			serveIn(running, limit, next, fail, w, r)
		}
	}
}

// Apart makes the Filter around a handler that waits for another server: places of its own, as many as f has. Who gets one gives back
// the place that they had until then, so that what hangs there keeps nobody from here.
// Order: behind all others.
func (f *InFlight) Apart(long func(*http.Request) bool, fail ErrorWriter) Filter {
	apart := &InFlight{Reads: f.Reads, Writes: f.Writes, Long: f.Long}
	fail = apart.refusals(fail)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			running, limit := apart.room(of(r), long(r))
			serveIn(running, limit, next, fail, w, r)
		}
	}
}

// room returns what counts the requests of x's sort, and their limit.
func (f *InFlight) room(x *exchange, long bool) (running *atomic.Int64, limit int64) {
	p := f.places(x)
	switch {
	case long:
		return &p.long, f.Long
	case x.info.Verb == "get" || x.info.Verb == "list":
		return &p.reads, f.Reads
	}
	return &p.writes, f.Writes
}

// places returns the places that there are for the user of x.
func (f *InFlight) places(x *exchange) *places {
	if isStranger(x.info.User) {
		return &f.strangers
	}
	return &f.known
}

// serveIn serves a request in a place that running counts, if there is one within limit. It is the only one that the request has from then
// on.
func serveIn(running *atomic.Int64, limit int64, next http.HandlerFunc, fail ErrorWriter, w http.ResponseWriter, r *http.Request) {
	x := of(r)
	if limit > 0 && isStranger(x.info.User) {
		limit = max(limit/strangersShare, 1)
	}
	if running.Add(1) > limit && limit > 0 && !isMaster(x.info.User) {
		running.Add(-1)
		x.response.terminated = byServer
		w.Header().Set("Retry-After", "1")
		fail(w, r, meta.NewTooManyRequests("Too many requests, please try again later.", 1))
		return
	}
	x.leave()
	x.place = running
	defer x.leave()
	next(w, r)
}

// leave gives back the place of x, if it has one.
func (x *exchange) leave() {
	if x.place != nil {
		x.place.Add(-1)
		x.place = nil
	}
}

func isMaster(u *request.User) bool { return u != nil && u.InGroup(request.GroupMasters) }

// isHealth reports whether a request asks how the server is.
func isHealth(info *request.Info) bool {
	for _, path := range [...]string{"/healthz", "/livez", "/readyz"} {
		if rest, ok := strings.CutPrefix(info.Path, path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// refusals returns fail for the filters of a chain. What is refused before it has a place gets one for the time that
// its answer takes. Without one there is no answer: the connection is cut, or of HTTP/2 the stream.
//
// By HTTP/2, net/http keeps an answer until the client lets it come, in a goroutine that the filters have left. Only when
// there are many goroutines, such a refusal gets less time than the server gives, and a stranger's is flushed, to keep its
// place so long: that costs as much as the rest of it.
func (f *InFlight) refusals(fail ErrorWriter) ErrorWriter {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		x := of(r)
		crowded := runtime.NumGoroutine() > manyGoroutines
		x.response.hurried = crowded || r.ProtoMajor < 2
		if x.place == nil {
			running := &f.places(x).refusals
			defer running.Add(-1)
			if running.Add(1) > maxRefusals && !isMaster(x.info.User) {
				x.info.Status = http.StatusTooManyRequests
				panic(http.ErrAbortHandler)
			}
		}
		fail(w, r, err)
		if r.ProtoMajor == 2 && isStranger(x.info.User) && crowded {
			_ = x.response.FlushError()
		}
	}
}
