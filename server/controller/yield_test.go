package controller_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// yield runs a Yield to the Lease "other" until the test ends.
func (w *fakeWorld) yield() {
	ctx, stop := context.WithCancel(w.T.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&controller.Yield{Client: w.S.Client(), Lease: "other", Log: zap.NewNop()}).Run(ctx, func(ctx context.Context) {
			w.note("works")
			<-ctx.Done()
			w.note("rests")
		})
	}()
	w.T.Cleanup(func() { stop(); <-ended })
}

// renew renews the Lease every 2 seconds, this many times.
func (w *fakeWorld) renew(times int) {
	for range times {
		w.change("other", func(l *coordinationv1.Lease) { l.Spec.RenewTime = &meta.MicroTime{Time: time.Now().UTC()} })
		w.Sleep(2 * time.Second)
	}
}

func hold(who string) func(l *coordinationv1.Lease) {
	return func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = &who }
}

func TestYield(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(w *fakeWorld)
		want string
	}{
		{"nobody holds it", func(w *fakeWorld) {
			w.yield()
			w.lease("another", "x", 0)
			w.Sleep(3 * time.Hour) // long enough that its watch ends and begins again
		}, "works@0s"},
		{"held", func(w *fakeWorld) {
			w.lease("other", "x", 0)
			w.yield()
			w.renew(30)
			w.Sleep(0)
		}, ""},
		{"given up", func(w *fakeWorld) {
			w.lease("other", "x", 0)
			w.yield()
			w.renew(30)
			w.change("other", hold(""))
		}, "works@1m0s"},
		{"not renewed", func(w *fakeWorld) {
			w.lease("other", "x", 0)
			w.yield()
			w.renew(30)
			w.Sleep(time.Minute)
		}, "works@1m13s"},
		{"long over", func(w *fakeWorld) {
			w.lease("other", "x", time.Hour)
			w.yield()
		}, "works@0s"},
		{"deleted", func(w *fakeWorld) {
			w.lease("other", "x", 0)
			w.yield()
			w.Sleep(time.Second)
			if err := w.leases().Delete(w.T.Context(), "other", meta.DeleteOptions{}); err != nil {
				w.T.Error(err)
			}
		}, "works@1s"},
		{"taken and given up, twice", func(w *fakeWorld) {
			w.yield()
			w.Sleep(time.Second)
			w.lease("other", "x", 0)
			w.renew(10)
			w.change("other", hold(""))
			w.Sleep(time.Minute)
			w.change("other", hold("y"))
			w.renew(10)
			w.change("other", hold(""))
		}, "works@0s rests@1s works@21s rests@1m21s works@1m41s"},
		{"another takes what is over", func(w *fakeWorld) {
			w.lease("other", "x", 0)
			w.yield()
			w.Sleep(20 * time.Second)
			w.change("other", hold("y"))
			w.renew(10)
		}, "works@15s rests@20s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, w *fakeWorld) {
				w.T = t
				tt.play(w)
				w.want(tt.want)
			})
		})
	}
}
