package backend

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
)

// TestFailureRefusesRequest wants a failure to be reported in the mode blocking-strict and at the
// stage RequestReceived only.
func TestFailureRefusesRequest(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for stage := audit.RequestReceived; stage <= audit.Panic; stage++ {
			for _, fail := range []error{nil, errors.New("the disk is full")} {
				g := newGauges(t)
				b := newBlocking(&fake{fail: fail}, strict, g.failures(logName))
				e := eventOf("e")
				e.Stage = stage
				want := fail == nil || !strict || stage != audit.RequestReceived
				if got := b.process(e); got != want {
					t.Errorf("strict %v, stage %v, error %v: got %v, want %v", strict, stage, fail, got, want)
				}
				failed := 0
				if fail != nil {
					failed = 1
				}
				g.want(logName, failed)
				b.close(t.Context())
				if got, want := b.process(e), !strict || stage != audit.RequestReceived; got != want {
					t.Errorf("after close, strict %v, stage %v: got %v, want %v", strict, stage, got, want)
				}
				g.want(logName, failed+1)
			}
		}
	}
}

// TestCloseWaitsForDeliveries wants close to wait for the deliveries that have begun, until its
// context ends.
func TestCloseWaitsForDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, inTime := range []bool{true, false} {
			g, to := newGauges(t), &fake{hold: make(chan struct{})}
			b := newBlocking(to, true, g.failures(webhookName))
			stored := make(chan bool, 1)
			go func() {
				e := eventOf("e")
				e.Stage = audit.RequestReceived
				stored <- b.process(e)
			}()
			synctest.Wait()
			if inTime {
				time.AfterFunc(time.Second, func() { close(to.hold) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			begun := time.Now()
			b.close(ctx)
			cancel()
			want := time.Minute
			if inTime {
				want = time.Second
			}
			if took := time.Since(begun); took != want || !to.closed {
				t.Errorf("in time %v: close took %v, want %v; the store is closed: %v", inTime, took, want, to.closed)
			}
			if got := <-stored; got != inTime {
				t.Errorf("in time %v: process returned %v", inTime, got)
			}
		}
	})
}
