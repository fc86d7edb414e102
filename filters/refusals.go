package filters

import (
	"net/http"
	"runtime"
	"sync/atomic"
)

const (
	// maxRefusals bounds the refusals being written at once, of strangers and of others.
	maxRefusals = 256
	// manyGoroutines is the number of goroutines from which on some of them may be refusals
	// that nobody reads.
	manyGoroutines = 1024
)

// refusals count the refusals being written, so that clients who do not read them are bounded.
type refusals struct{ known, strangers atomic.Int64 }

// bound returns fail for the filters of a chain. A request that is refused before it has a seat
// is counted for the time that its answer takes. Beyond the bound there is no answer: the
// connection is cut, or of HTTP/2 the stream. Members of system:masters always get an answer.
//
// By HTTP/2, net/http keeps an answer until the client lets it come, in a goroutine that the
// filters have left. So when there are many goroutines, a refusal gets less time than the
// server gives, and a stranger's is flushed, to be counted for so long: that costs as much as
// the rest of it.
func (f *refusals) bound(fail ErrorWriter) ErrorWriter {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		x := of(r)
		stranger, crowded := isStranger(x.info.User), runtime.NumGoroutine() > manyGoroutines
		x.response.hurried = crowded || r.ProtoMajor < 2
		if x.seat == nil {
			running := &f.known
			if stranger {
				running = &f.strangers
			}
			defer running.Add(-1)
			if running.Add(1) > maxRefusals && !isMaster(x.info.User) {
				x.info.Status = http.StatusTooManyRequests
				panic(http.ErrAbortHandler)
			}
		}
		fail(w, r, err)
		if r.ProtoMajor == 2 && stranger && crowded {
			_ = x.response.FlushError()
		}
	}
}
