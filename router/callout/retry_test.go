package callout

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTemporary(t *testing.T) {
	for _, tt := range []struct {
		err  Error
		want bool
	}{
		{Error{Kind: Unreachable, Err: errors.New("no route")}, true},
		{Error{Kind: Unreachable, Err: &tls.CertificateVerificationError{Err: errors.New("expired")}}, false},
		{Error{Kind: TimedOut}, true},
		{Error{Kind: Canceled}, false},
		{Error{Kind: Malformed}, false},
		{Error{Kind: Refused, Status: 429}, true},
		{Error{Kind: Refused, Status: 500}, true},
		{Error{Kind: Refused, Status: 503}, true},
		{Error{Kind: Refused, Status: 400}, false},
		{Error{Kind: Refused, Status: 307}, false},
	} {
		if got := tt.err.temporary(); got != tt.want {
			t.Errorf("temporary of %v: got %v, want %v", &tt.err, got, tt.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	again, bad, ended := &Error{Kind: TimedOut}, &Error{Kind: Malformed}, &Error{Kind: Canceled}
	asks := &Error{Kind: Refused, Status: 503, RetryAfter: 10 * time.Second}
	for _, tt := range []struct {
		name     string
		retry    Retry
		ctx      time.Duration // its deadline
		errs     []*Error      // of the first tries; the next try succeeds
		tries    int
		min, max time.Duration // of all tries together
		want     *Error
	}{
		{"never", Retry{}, time.Hour, []*Error{again}, 1, 0, 0, again},
		{"not needed", Retry{Tries: 5}, time.Hour, nil, 1, 0, 0, nil},
		{"no use", Retry{Tries: 5}, time.Hour, []*Error{again, bad}, 2, 500 * time.Millisecond, 600 * time.Millisecond, bad},
		{"always", Retry{Tries: 3, Pause: time.Second, Always: true}, time.Hour, []*Error{bad, bad, bad}, 3, 2500 * time.Millisecond, 3 * time.Second, bad},
		{"always but canceled", Retry{Tries: 3, Always: true}, time.Hour, []*Error{ended}, 1, 0, 0, ended},
		{"in the end", Retry{Tries: 4, Pause: time.Second}, time.Hour, []*Error{again, again, again}, 4, 4750 * time.Millisecond, 5700 * time.Millisecond, nil},
		{"in vain", Retry{Tries: 3, Pause: time.Second}, time.Hour, []*Error{again, again, again}, 3, 2500 * time.Millisecond, 3 * time.Second, again},
		{"as asked", Retry{Tries: 2, Pause: time.Second}, time.Hour, []*Error{asks}, 2, 10 * time.Second, 10 * time.Second, nil},
		{"no time left", Retry{Tries: 9, Pause: time.Second}, 3 * time.Second, []*Error{again, again, again, again}, 3, 2500 * time.Millisecond, 3 * time.Second, again},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ctx)
				defer cancel()
				begun, tries := time.Now(), 0
				err := tt.retry.repeat(ctx, func() *Error {
					if tries++; tries <= len(tt.errs) {
						return tt.errs[tries-1]
					}
					return nil
				})
				if took := time.Since(begun); tries != tt.tries || took < tt.min || took > tt.max {
					t.Errorf("got %d tries in %v, want %d in %v to %v", tries, took, tt.tries, tt.min, tt.max)
				}
				if (err == nil) != (tt.want == nil) || err != nil && err != error(tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
}

func TestRepeatEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begun := time.Now()
		err := Retry{Tries: 2, Pause: time.Hour}.repeat(ctx, func() *Error { return &Error{Kind: TimedOut} })
		if took := time.Since(begun); !errors.Is(err, TimedOut) || took != time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}
