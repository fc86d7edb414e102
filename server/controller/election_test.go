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
)

// inFakeTime runs f with a server that works in fake time, and has no controllers.
func inFakeTime(t *testing.T, f func(t *testing.T, w *fakeWorld)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(t.Context(), server.Config{
			DataDir: dir, Storage: server.StorageConfig{Engine: server.StorageMemory}, Controllers: []string{},
			Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			Authorization: server.AuthorizationConfig{Mode: server.AuthorizeAlways},
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

// ServeHTTP is the network.
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

// change changes the Lease behind its holder's back.
func (w *fakeWorld) change(change func(l *coordinationv1.Lease)) {
	w.t.Helper()
	l, err := w.leases().Get(w.t.Context(), "election", meta.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(l)
	if _, err := w.leases().Update(w.t.Context(), l, meta.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fakeWorld) sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestElectionHandsOver(t *testing.T) {
	inFakeTime(t, func(t *testing.T, w *fakeWorld) {
		a := w.run("a")
		w.want("a leads@0s")
		w.run("b")
		w.sleep(time.Minute)
		a.stop()
		<-a.ended
		w.sleep(5 * time.Second)
		w.want("a leads@0s a ends@1m0s b leads@1m0s")
	})
}
