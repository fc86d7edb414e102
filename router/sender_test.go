package router

import (
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/router/request"
)

// stalledWriter is the connection of a client that reads the header, and nothing more until let is
// closed.
type stalledWriter struct {
	header  http.Header
	flushes int
	waiting func() // called when a write begins to block
	let     chan struct{}
}

func (s *stalledWriter) Header() http.Header         { return s.header }
func (s *stalledWriter) WriteHeader(int)             {}
func (s *stalledWriter) Write(p []byte) (int, error) { return len(p), nil }

func (s *stalledWriter) FlushError() error {
	if s.flushes++; s.flushes == 2 {
		s.waiting()
		<-s.let
	}
	return nil
}

// TestWatchesThatWaitHoldNoBuffer: many watches that wait for their clients at once hold no pooled
// buffers.
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
		w := &stalledWriter{header: http.Header{}, waiting: waiting.Done, let: let}
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

// heap returns the bytes of memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
