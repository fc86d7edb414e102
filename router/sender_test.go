package router

import (
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// deaf is the answer to a client that takes the header, and no more until it is let.
type deaf struct {
	header  http.Header
	flushes int
	waiting func() // is called when it begins to wait
	let     chan struct{}
}

func (s *deaf) Header() http.Header         { return s.header }
func (s *deaf) WriteHeader(int)             {}
func (s *deaf) Write(p []byte) (int, error) { return len(p), nil }

func (s *deaf) FlushError() error {
	if s.flushes++; s.flushes == 2 {
		s.waiting()
		<-s.let
	}
	return nil
}

// TestWatchesThatWaitHoldNoBuffer has many watches wait for their clients at once, as they do when an object changes that
// all of them see.
func TestWatchesThatWaitHoldNoBuffer(t *testing.T) {
	const watches, bound = 300, 16 << 10
	let := make(chan struct{})
	var waiting, ended sync.WaitGroup
	var serve []func()
	for range watches {
		events := [][]request.Event{{{Type: request.Added, Object: configMap("a", "1")}}}
		h := core(t, &fake{cursor: &script{batches: events, end: io.EOF}})
		r, _ := parsed(t, "GET", maps+"?watch=1", "")
		waiting.Add(1)
		w := &deaf{header: http.Header{}, waiting: waiting.Done, let: let}
		serve = append(serve, func() { h.ServeHTTP(w, r) })
	}
	before := heap()
	for _, f := range serve {
		ended.Go(f)
	}
	waiting.Wait()
	each := (heap() - before) / watches
	close(let)
	ended.Wait()
	if each > bound {
		t.Errorf("a watch that waits for its client: got %d bytes of heap, want at most %d", each, bound)
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
