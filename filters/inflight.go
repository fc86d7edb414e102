package filters

import (
	"net/http"
	"sync/atomic"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// InFlight bounds how many requests run at once, apart for reading (get, list), writing and long-running ones. A zero
// limit is none. The counts can be read at any time.
type InFlight struct {
	Reads, Writes, Long int64 // limits, fixed after the first request

	reads, writes, long atomic.Int64
}

// Running returns how many reading and writing requests run.
func (f *InFlight) Running() (reads, writes int64) { return f.reads.Load(), f.writes.Load() }

// Filter answers requests over the limit with 429 and Retry-After: 1 (seconds). Members of system:masters
// always get in: somebody must be able to see what is wrong.
// Order: after Authenticate, to know them. Cost: two atomic adds, no allocation.
func (f *InFlight) Filter(long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			info := &of(r).info
			running, limit := &f.writes, f.Writes
			switch {
			case long(info):
				running, limit = &f.long, f.Long
			case info.Verb == "get" || info.Verb == "list":
				running, limit = &f.reads, f.Reads
			}
			defer running.Add(-1)
			if running.Add(1) > limit && limit > 0 && (info.User == nil || !info.User.InGroup(request.GroupMasters)) {
				w.Header().Set("Retry-After", "1")
				fail(w, r, meta.NewTooManyRequests("Too many requests, please try again later.", 1))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
