package router

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// backing is the store behind a resource; it can be closed. If hold is set, requests wait for it.
type backing struct {
	text   string
	inside chan struct{} // gets a token from each request
	hold   chan struct{}
	closed chan struct{}
	misses atomic.Int64 // requests after it was closed
}

func newBacking(text string) *backing { return &backing{text: text, closed: make(chan struct{})} }

func (b *backing) Get(context.Context, string, string, string) (request.Encoded, error) {
	if b.inside != nil {
		b.inside <- struct{}{}
		<-b.hold
	}
	select {
	case <-b.closed:
		b.misses.Add(1)
	default:
	}
	return configMap("a", b.text), nil
}

func (b *backing) Watch(context.Context, *request.ListRequest) (request.EventCursor, error) {
	return &endsWith{b}, nil
}

// endsWith is a cursor without events that ends when the backing is closed.
type endsWith struct{ *backing }

func (c *endsWith) Next(ctx context.Context) ([]request.Event, error) {
	if c.inside != nil {
		c.inside <- struct{}{}
	}
	select {
	case <-c.closed:
		return nil, meta.NewServiceUnavailable("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *endsWith) Close() {}

// of returns a group version whose config maps are in b.
func (b *backing) of() []GroupVersion {
	res := all("configmaps", true, &fake{})
	res.Getter, res.Watcher = b, b
	return []GroupVersion{{GroupVersion: res.StorageVersion.GroupVersion(), Resources: []Resource{res}}}
}

var ended, endedNow = context.WithCancel(context.Background())

func init() { endedNow() }

// TestRetired replaces a resource while a request to it is running.
func TestRetired(t *testing.T) {
	old, next := newBacking("old"), newBacking("new")
	old.inside, old.hold = make(chan struct{}), make(chan struct{})
	rr := NewRESTRouter(testConfig(t))
	rr.Change(nil, old.of())
	var running sync.WaitGroup
	running.Go(func() {
		if body := serve(t, rr, "GET", maps+"/a", "").Body.String(); !strings.Contains(body, "old") {
			t.Errorf("the request that was inside got %s", body)
		}
	})
	<-old.inside
	retired := rr.Change(old.of(), next.of())
	if err := retired.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a request inside: got %v, want the context's error", err)
	}
	if body := serve(t, rr, "GET", maps+"/a", "").Body.String(); !strings.Contains(body, "new") {
		t.Errorf("a new request got %s", body)
	}
	close(old.hold)
	if err := retired.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	running.Wait()
	if err := retired.Wait(t.Context()); err != nil { // again
		t.Error(err)
	}
}

// TestRetiredLate lets a request find a resource before it is retired and enter after that.
func TestRetiredLate(t *testing.T) {
	old, next := newBacking("old"), newBacking("new")
	rr := NewRESTRouter(testConfig(t))
	rr.Change(nil, old.of())
	r, info := parsed(t, "GET", maps+"/a", "")
	found := rr.find(info).item("get", nil)
	if err := rr.Change(old.of(), next.of()).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want   string
		change func()
	}{{"new", func() {}}, {`"code":404`, func() { rr.Change(next.of(), nil) }}} {
		tt.change()
		if body := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { found.ServeHTTP(w, r) }), "GET", "/", "").Body.String(); !strings.Contains(body, tt.want) {
			t.Errorf("got %s, want %s", body, tt.want)
		}
	}
}

// TestRetiredWatch: Wait does not wait for a watch. The watch ends with its backing, without an
// ERROR event.
func TestRetiredWatch(t *testing.T) {
	old := newBacking("old")
	old.inside = make(chan struct{})
	rr := NewRESTRouter(testConfig(t))
	rr.Change(nil, old.of())
	var running sync.WaitGroup
	running.Go(func() {
		if w := serve(t, rr, "GET", maps+"?watch=1", ""); w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("the watch: got %d %s, want an empty stream", w.Code, w.Body)
		}
	})
	<-old.inside
	retired := rr.Change(old.of(), nil)
	if err := retired.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	close(old.closed)
	running.Wait()
	if n := retired[0].count.Load(); n != 1<<62 {
		t.Errorf("after the end %d requests are counted, want 0", n-1<<62)
	}
}

// TestRetiredUnderLoad replaces a resource repeatedly and closes the old backing as soon as Wait
// returns.
func TestRetiredUnderLoad(t *testing.T) {
	rr := NewRESTRouter(testConfig(t))
	now := newBacking("0")
	rr.Change(nil, now.of())
	var running sync.WaitGroup
	var done atomic.Bool
	for i := range 4 {
		path := maps + "/a"
		if i == 0 {
			path = maps + "?watch=1"
		}
		running.Go(func() {
			for !done.Load() {
				w := serve(t, rr, "GET", path, "")
				if w.Code != 200 && !done.Load() || strings.Contains(w.Body.String(), "ERROR") {
					t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
				}
			}
		})
	}
	all := []*backing{now}
	for range 500 {
		next := newBacking("next")
		if err := rr.Change(now.of(), next.of()).Wait(t.Context()); err != nil {
			t.Error(err)
		}
		close(now.closed)
		now, all = next, append(all, next)
	}
	done.Store(true)
	if err := rr.Change(now.of(), nil).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	close(now.closed) // ends the last watch
	running.Wait()
	for i, b := range all {
		if n := b.misses.Load(); n > 0 {
			t.Errorf("state %d: %d requests found it closed", i, n)
		}
	}
}
