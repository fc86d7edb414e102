package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/coordinationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/server/servertest"
)

// inFakeTime runs f with a server that works in fake time, and has no controllers.
func inFakeTime(t *testing.T, f func(t *testing.T, w *fakeWorld)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := servertest.New(t, server.Config{
			DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: server.AuthorizationConfig{Modes: []string{server.AuthorizeAlways}},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := &fakeWorld{t: t, s: s, begun: time.Now()}
		w.createNamespace("kube-system")
		f(t, w)
	})
}

// fakeWorld is a server in fake time.
type fakeWorld struct {
	t     *testing.T
	s     *server.Server
	begun time.Time

	mu  sync.Mutex
	log []string
}

func (w *fakeWorld) createNamespace(name string) {
	w.t.Helper()
	namespaces := client.For[*corev1.Namespace](w.s.Client(), corev1.GroupVersion.WithResource("namespaces"))
	if _, err := namespaces.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fakeWorld) leases() client.Resource[*coordinationv1.Lease] {
	return client.For[*coordinationv1.Lease](w.s.Client(), coordinationv1.GroupVersion.WithResource("leases")).In("kube-system")
}

// note adds a line to what has happened, with its time.
func (w *fakeWorld) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...)+"@"+time.Since(w.begun).Truncate(time.Second).String())
}

// want compares what has happened.
func (w *fakeWorld) want(text string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.log, " "); got != text {
		w.t.Errorf("got %q, want %q", got, text)
	}
}

// candidate is a server that takes part in an election; the network between it and the store can fail.
type candidate struct {
	stop  context.CancelFunc
	ended chan struct{}
	cut   atomic.Bool // requests fail
	hangs atomic.Bool // requests get no answer
}

// transport is the network.
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

// run lets a candidate take part until it is stopped, or the test ends.
func (w *fakeWorld) run(name string) *candidate {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	c := &candidate{stop: stop, ended: make(chan struct{})}
	api, err := client.New(client.Config{Transport: c.transport(w.s.Handler()), Codecs: w.s.Codecs})
	if err != nil {
		w.t.Fatal(err)
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
	w.t.Cleanup(func() { stop(); <-c.ended })
	return c
}

// change changes a Lease behind its holder's back.
func (w *fakeWorld) change(name string, change func(l *coordinationv1.Lease)) {
	w.t.Helper()
	l, err := w.leases().Get(w.t.Context(), name, meta.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(l)
	if _, err := w.leases().Update(w.t.Context(), l, meta.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fakeWorld) sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

// TestElectionHandsOver stops the leader in good order.
func TestElectionHandsOver(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		a := w.run("a")
		w.sleep(time.Second)
		w.run("b")
		w.sleep(time.Minute)
		a.stop()
		<-a.ended
		w.sleep(5 * time.Second)
		w.want("a leads@0s a ends@1m1s b leads@1m3s")
		l, err := w.leases().Get(t.Context(), "election", meta.GetOptions{})
		if err != nil || *l.Spec.HolderIdentity != "b" || *l.Spec.LeaseTransitions != 1 || *l.Spec.LeaseDurationSeconds != 15 {
			t.Errorf("got %+v, %v", l.Spec, err)
		}
	})
}

// TestElectionAfterACrash has the leader lose the store, which to others looks as if it had died: it ends before another leads,
// also while its requests get no answer, and that is soon.
func TestElectionAfterACrash(t *testing.T) {
	for name, fail := range map[string]func(c *candidate){
		"failing": func(c *candidate) { c.cut.Store(true) },
		"hanging": func(c *candidate) { c.hangs.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, w *fakeWorld) {
				a := w.run("a")
				w.sleep(time.Second)
				w.run("b")
				w.sleep(time.Minute)
				fail(a)
				w.sleep(time.Minute)
				w.want("a leads@0s a ends@1m10s b leads@1m17s")
			})
		})
	}
}

// TestElectionOutlivesFailures loses the store for less than the Lease lasts, and has others write into it and delete it: the
// leader goes on, and renews the Lease.
func TestElectionOutlivesFailures(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		a := w.run("a")
		w.sleep(6 * time.Second)
		a.cut.Store(true)
		w.sleep(7 * time.Second)
		a.cut.Store(false)
		w.sleep(time.Minute)
		w.change("election", func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} })
		w.sleep(5 * time.Second)
		if l, err := w.leases().Get(t.Context(), "election", meta.GetOptions{}); err != nil || time.Since(l.Spec.RenewTime.Time) > 5*time.Second || l.Labels["a"] != "b" {
			t.Errorf("got %+v, %v, want it renewed, with the label", l, err)
		}
		if err := w.leases().Delete(t.Context(), "election", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sleep(time.Minute)
		w.want("a leads@0s")
	})
}

// TestElectionIsLost gives the Lease to another, who does not renew it.
func TestElectionIsLost(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		w.run("a")
		w.sleep(6 * time.Second)
		w.change("election", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("x") })
		w.sleep(time.Minute)
		w.want("a leads@0s a ends@10s a leads@28s")
	})
}

// TestElectionFindsALease begins with the Lease of another, whose clock may be another as well: what counts is how long it is seen
// to be the same, unless it is over for longer than clocks differ.
func TestElectionFindsALease(t *testing.T) {
	for _, tt := range []struct {
		holder  string
		renewed time.Duration // ago
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
				w.sleep(time.Minute)
				w.want(tt.want)
			})
		})
	}
}

// lease makes a Lease that was renewed some time ago.
func (w *fakeWorld) lease(name, holder string, ago time.Duration) {
	w.t.Helper()
	_, err := w.leases().Create(w.t.Context(), &coordinationv1.Lease{
		ObjectMeta: meta.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &meta.MicroTime{Time: time.Now().Add(-ago).UTC()},
		},
	}, meta.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
}
