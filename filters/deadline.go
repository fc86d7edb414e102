package filters

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// bodyGrace is how much longer than the request itself the reading of its body may take, so that the handler still
// finds the context at its end, and not the connection.
const bodyGrace = time.Second

// Deadline ends the context of a request after limit, or earlier if the timeout parameter says so. If the handler returns
// without an answer by then, the client gets 504. The handler is not left behind to run on by itself: it has to heed its
// context, and what it writes belongs to it alone. A body that comes too slowly ends with the request, too; an answer
// that is read too slowly ends with the server's WriteTimeout. What looks like a long-running request has no
// timeout parameter, but ends in time as well, until Long lets it go on.
// Order: after Info, and outside everything that can wait. Cost: a clock reading; the timer only starts when somebody
// waits for the context (see request.Context).
func Deadline(limit time.Duration, long func(*request.Info) bool, fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := of(r)
			timeout := limit
			if !long(&x.info) {
				var err error
				if timeout, err = timeoutOf(&x.info.Query, limit); err != nil {
					fail(w, r, meta.NewBadRequest("invalid timeout specified in the request URL - "+err.Error()))
					return
				}
			}
			end := x.info.Received.Add(timeout)
			x.SetDeadline(end)
			x.body.limit(end.Add(bodyGrace))
			if x.Err() == nil {
				next(w, r)
			}
			if !x.response.begun && errors.Is(x.Err(), context.DeadlineExceeded) {
				x.response.terminated = byServer
				fail(w, r, timedOut())
			}
		}
	}
}

// timeoutOf returns the time that a request has. Nothing, zero and less, and more than limit, all mean limit.
func timeoutOf(query *request.Query, limit time.Duration) (time.Duration, error) {
	v := query.Get("timeout")
	if v == "" {
		return limit, nil
	}
	d, err := time.ParseDuration(meta.Excerpt(v)) // what is cut is none
	if err != nil {
		return 0, err
	}
	if d <= 0 || d > limit {
		d = limit
	}
	return d, nil
}

// timedOut is the Status for a request whose time is up, and says to the writer of errors that it is this timeout.
func timedOut() error {
	return errors.Join(meta.NewTimeout("request did not complete within the allotted timeout", 0), context.DeadlineExceeded)
}
