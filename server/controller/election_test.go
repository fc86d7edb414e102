package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

func (w *fakeWorld) leases() client.Resource[*coordinationv1.Lease] {
	return client.For[*coordinationv1.Lease](w.S.Client(), coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
}

// note adds a line to the log of the test, with the time since its start.
func (w *fakeWorld) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...)+"@"+time.Since(w.Begun).Truncate(time.Second).String())
}

// want compares the log of the test with lines.
func (w *fakeWorld) want(text string) {
	w.T.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.log, " "); got != text {
		w.T.Errorf("got %q, want %q", got, text)
	}
}

// candidate is a server that takes part in an election. The network between it and the store can
// fail.
type candidate struct {
	stop  context.CancelFunc
	ended chan struct{}
	cut   atomic.Bool // requests fail
	hangs atomic.Bool // requests get no answer
}

// transport is the network between a candidate and the store.
func (c *candidate) transport(h http.Handler) http.RoundTripper {
	return client.HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case c.cut.Load():
			http.Error(w, "", http.StatusServiceUnavailable)
		case c.hangs.Load():
			<-r.Context().Done()
		default:
			h.ServeHTTP(w, r)
		}
	}))
}

// run makes a candidate take part until it is stopped or the test ends.
func (w *fakeWorld) run(name string) *candidate {
	w.T.Helper()
	ctx, stop := context.WithCancel(w.T.Context())
	c := &candidate{stop: stop, ended: make(chan struct{})}
	api, err := client.New(client.Config{Transport: c.transport(w.S.Handler()), Codecs: w.S.Codecs})
	if err != nil {
		w.T.Fatal(err)
	}
	e := &controller.Election{Client: api, Lease: "election", Identity: name, Log: zap.NewNop()}
	go func() {
		defer close(c.ended)
		e.Run(ctx, func(ctx context.Context) {
			w.note("%s leads", name)
			<-ctx.Done()
			w.note("%s ends", name)
		})
	}()
	w.T.Cleanup(func() { stop(); <-c.ended })
	return c
}

// change changes a Lease as another client.
func (w *fakeWorld) change(name string, change func(l *coordinationv1.Lease)) {
	w.T.Helper()
	l, err := w.leases().Get(w.T.Context(), name, meta.GetOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
	change(l)
	if _, err := w.leases().Update(w.T.Context(), l, meta.UpdateOptions{}); err != nil {
		w.T.Fatal(err)
	}
}

// TestElectionHandsOver shuts the leader down: it releases the Lease, and another candidate leads.
func TestElectionHandsOver(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		a := w.run("a")
		w.Sleep(time.Second)
		w.run("b")
		w.Sleep(time.Minute)
		a.stop()
		<-a.ended
		w.Sleep(5 * time.Second)
		w.want("a leads@0s a ends@1m1s b leads@1m3s")
		l, err := w.leases().Get(t.Context(), "election", meta.GetOptions{})
		if err != nil || *l.Spec.HolderIdentity != "b" || *l.Spec.LeaseTransitions != 1 || *l.Spec.LeaseDurationSeconds != 15 {
			t.Errorf("got %+v, %v", l.Spec, err)
		}
	})
}

// TestElectionAfterACrash cuts the leader off from the store, which looks to the others like a
// crash. The leader ends soon and before another leads, even while its requests get no answer.
func TestElectionAfterACrash(t *testing.T) {
	for name, fail := range map[string]func(c *candidate){
		"failing": func(c *candidate) { c.cut.Store(true) },
		"hanging": func(c *candidate) { c.hangs.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, w *fakeWorld) {
				a := w.run("a")
				w.Sleep(time.Second)
				w.run("b")
				w.Sleep(time.Minute)
				fail(a)
				w.Sleep(time.Minute)
				w.want("a leads@0s a ends@1m10s b leads@1m17s")
			})
		})
	}
}

// TestElectionOutlivesFailures: the leader goes on and renews the Lease if the store fails for less
// than the Lease lasts, and if others change or delete the Lease.
func TestElectionOutlivesFailures(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		a := w.run("a")
		w.Sleep(6 * time.Second)
		a.cut.Store(true)
		w.Sleep(7 * time.Second)
		a.cut.Store(false)
		w.Sleep(time.Minute)
		w.change("election", func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} })
		w.Sleep(5 * time.Second)
		if l, err := w.leases().Get(t.Context(), "election", meta.GetOptions{}); err != nil || time.Since(l.Spec.RenewTime.Time) > 5*time.Second || l.Labels["a"] != "b" {
			t.Errorf("got %+v, %v, want it renewed, with the label", l, err)
		}
		if err := w.leases().Delete(t.Context(), "election", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.Sleep(time.Minute)
		w.want("a leads@0s")
	})
}

// TestElectionIsLost gives the Lease to another holder, which does not renew it.
func TestElectionIsLost(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.run("a")
		w.Sleep(6 * time.Second)
		w.change("election", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("x") })
		w.Sleep(time.Minute)
		w.want("a leads@0s a ends@10s a leads@28s")
	})
}

// TestElectionFindsALease begins with the Lease of another server, whose clock may differ. A
// candidate waits until the Lease was unchanged for its duration, unless it expired more than
// maxSkew ago.
func TestElectionFindsALease(t *testing.T) {
	for _, tt := range []struct {
		holder  string
		renewed time.Duration // before the test begins
		want    string
	}{
		{"x", 0, "a leads@16s"},
		{"x", 30 * time.Second, "a leads@16s"},
		{"x", -time.Hour, "a leads@16s"},
		{"x", time.Hour, "a leads@0s"},
		{"", 0, "a leads@0s"},
		{"a", 0, "a leads@0s"},
	} {
		t.Run(fmt.Sprintf("%s/%v", tt.holder, tt.renewed), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, w *fakeWorld) {
				w.lease("election", tt.holder, tt.renewed)
				w.run("a")
				w.Sleep(time.Minute)
				w.want(tt.want)
			})
		})
	}
}

// lease makes a Lease that was renewed some time ago.
func (w *fakeWorld) lease(name, holder string, ago time.Duration) {
	w.T.Helper()
	_, err := w.leases().Create(w.T.Context(), &coordinationv1.Lease{
		ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &meta.MicroTime{Time: time.Now().Add(-ago).UTC()},
		},
	}, meta.CreateOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
}
