package filters

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// bodyGrace is how much longer than the request its body may take, so that the handler is told of
// the timeout by its context and not by an error of the connection.
const bodyGrace = time.Second

// Deadline ends the context of a request after limit, or earlier if the parameter timeout says so.
// If the handler returns without a response after that time, the client gets 504. The handler is
// not abandoned: it must obey its context, and nobody else writes its response. A body that arrives
// too slowly ends with the request; a response that is read too slowly ends with the server's
// WriteTimeout. A request that looks long-running has no timeout parameter, and ends after limit as
// well unless Long lifts the deadline.
// Order: after Info, and outside everything that can wait. Cost: a clock reading. The timer starts
// only if somebody waits for the context (see request.Context).
func Deadline(limit time.Duration, long func(*request.Info) bool, a *Auditing, fail ErrorWriter) Filter {
	refuse := AuditRefused(a, fail)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			x := exchangeOf(r)
			timeout := limit
			if !long(&x.info) {
				var err error
				if timeout, err = timeoutOf(&x.info.Query, limit); err != nil {
					refuse(w, r, meta.NewBadRequest("invalid timeout specified in the request URL - "+err.Error()))
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

// timeoutOf returns the time that a request has: the parameter timeout, or limit if that is absent,
// not positive, or larger than limit.
func timeoutOf(query *request.Query, limit time.Duration) (time.Duration, error) {
	v := query.Get("timeout")
	if v == "" {
		return limit, nil
	}
	d, err := time.ParseDuration(meta.Excerpt(v)) // a value that is long enough to be cut is no duration
	if err != nil {
		return 0, err
	}
	if d <= 0 || d > limit {
		d = limit
	}
	return d, nil
}

// timedOut is the error for a request whose time is up. It carries context.DeadlineExceeded, by
// which router.WriteError recognizes this timeout.
func timedOut() error {
	return errors.Join(
		meta.NewTimeout("request did not complete within the allotted timeout", 0), context.DeadlineExceeded,
	)
}
