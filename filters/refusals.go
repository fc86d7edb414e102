package filters

import (
	"net/http"
	"runtime"
	"sync/atomic"
)

const (
	// maxRefusals is the largest number of refusals that are written at once, separately for
	// strangers and for others.
	maxRefusals = 256
	// manyGoroutines is the number of goroutines above which some of them may be refusals that
	// clients do not read.
	manyGoroutines = 1024
)

// refusals count the refusals that are being written. Their number is bounded, because a refusal
// that its client does not read occupies memory.
type refusals struct{ users, strangers atomic.Int64 }

// bound returns fail with a bound on concurrent refusals. A request that is refused before it has a
// seat is counted while its response is written. Beyond the bound there is no response: the
// connection, or the HTTP/2 stream, is cut. Members of system:masters always get a response.
//
// A client with HTTP/1 has only strangerTime to read a refusal. With HTTP/2, net/http buffers a
// response until the client allows it to be sent, in a goroutine that outlives the filters. So when
// there are many goroutines, a client with HTTP/2 has only strangerTime as well, and a stranger's
// refusal is flushed, so that it stays counted until it is sent. The flush costs as much as the
// rest of a refusal.
func (f *refusals) bound(fail ErrorWriter) ErrorWriter {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		x := exchangeOf(r)
		stranger, busy := isStranger(x.info.User), runtime.NumGoroutine() > manyGoroutines
		x.response.hurried = busy || r.ProtoMajor < 2
		if x.seat == nil {
			running := &f.users
			if stranger {
				running = &f.strangers
			}
			defer running.Add(-1)
			if running.Add(1) > maxRefusals && !isInMasters(x.info.User) {
				x.info.Status = http.StatusTooManyRequests
				panic(http.ErrAbortHandler)
			}
		}
		fail(w, r, err)
		if r.ProtoMajor == 2 && stranger && busy {
			_ = x.response.FlushError()
		}
	}
}
