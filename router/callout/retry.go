package callout

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry says how often and when a call is tried again. A call is tried again if the connection
// failed, if it got no response in time, or if the response has status 429 or 5xx. The zero Retry
// never tries again.
type Retry struct {
	// Tries is the number of tries in all; 0 and 1 mean one.
	Tries int
	// Pause is the time before the second try, default 500 ms. Each further pause is half as long
	// again, and each is lengthened by up to a fifth at random, so that many callers do not come
	// back together. If a response asks for a longer pause (Retry-After), the pause is as long as
	// the response asks.
	Pause time.Duration
	// Asked tries again only if the response asks for it, by its status and by Retry-After, and
	// after exactly the time that it asks for, as Kubernetes does for admission webhooks.
	Asked bool
	// Always tries again after every failure except the end of the caller's context, as Kubernetes
	// does for the webhook of audit events.
	Always bool
}

const (
	defaultPause = 500 * time.Millisecond
	pauseGrowth  = 1.5
	pauseJitter  = 0.2
)

// temporary reports whether the same call may succeed later. An invalid certificate is not
// temporary.
func (e *Error) temporary() bool {
	switch e.Kind {
	case Unreachable:
		var cert *tls.CertificateVerificationError
		return !errors.As(e.Err, &cert)
	case TimedOut:
		return true
	case Refused:
		return e.Status == http.StatusTooManyRequests || e.Status >= 500
	}
	return false
}

// again reports whether a failed call is tried again.
func (r Retry) again(err *Error) bool {
	return r.Always && err.Kind != Canceled || err.temporary() && (!r.Asked || err.RetryAfter > 0)
}

// repeat calls try until it succeeds, fails for good, or has used up the tries or ctx. The error is
// that of the last try.
func (r Retry) repeat(ctx context.Context, try func() *Error) error {
	pause := float64(r.Pause)
	if r.Pause <= 0 {
		pause = float64(defaultPause)
	}
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			return nil // a nil *Error would be a non-nil error
		}
		if n >= r.Tries || !r.again(err) {
			return err
		}
		wait := err.RetryAfter
		if !r.Asked {
			wait = max(wait, time.Duration(pause*(1+pauseJitter*rand.Float64())))
		}
		if !waitOrEnd(ctx, wait) {
			return err
		}
		pause *= pauseGrowth
	}
}

// waitOrEnd waits for d and returns true. If ctx ends first, it returns false; if ctx's deadline is
// not later than d from now, it returns false without waiting.
func waitOrEnd(ctx context.Context, d time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
