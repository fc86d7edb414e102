package callout

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// Retry says how often and when a call is tried again that nobody answered in time, or that was answered with 429 or 5xx.
// The zero Retry never tries again.
type Retry struct {
	// Tries is how often a call is tried in all; 0 and 1 mean once.
	Tries int
	// Pause is the time before the second try, default 500 ms. Each further one is half as long again, and each is
	// longer by up to a fifth at random, so that many callers do not come back together. If an answer asks for a longer
	// pause, so be it.
	Pause time.Duration
}

const (
	defaultPause = 500 * time.Millisecond
	pauseGrowth  = 1.5
	pauseJitter  = 0.2
)

// temporary reports whether the same call may succeed later. A certificate that does not hold will not hold then either.
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

// repeat calls try until it succeeds, fails for good, or neither a try nor ctx is left. The error is the last one's.
func (r Retry) repeat(ctx context.Context, try func() *Error) error {
	pause := float64(r.Pause)
	if r.Pause <= 0 {
		pause = float64(defaultPause)
	}
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			return nil // not err, which would be no nil error any more
		}
		if n >= r.Tries || !err.temporary() {
			return err
		}
		wait := max(time.Duration(pause*(1+pauseJitter*rand.Float64())), err.RetryAfter)
		if !sleep(ctx, wait) {
			return err
		}
		pause *= pauseGrowth
	}
}

// sleep waits, unless ctx ends before that: then it reports false, at once if that is known already.
func sleep(ctx context.Context, d time.Duration) bool {
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
