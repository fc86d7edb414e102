package backend

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/audit"
)

// blackhole is a store that takes everything.
type blackhole struct{}

func (blackhole) deliver(context.Context, []*audit.Event) (int, error) { return 0, nil }
func (blackhole) close(context.Context)                                {}

// benchConfig returns a Config whose log is a file.
func benchConfig(tb testing.TB) Config {
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		tb.Fatal(err)
	}
	c := Config{Log: DefaultLog(), Webhook: DefaultWebhook(), Metrics: m, Logger: zap.NewNop()}
	c.Log.Path = filepath.Join(tb.TempDir(), "audit.log")
	c.Log.MaxBackups = 1
	return c
}

// BenchmarkProcess is what a request pays. In the mode batch, the buffer is empty (a worker takes
// the events), or full (the events are dropped).
func BenchmarkProcess(b *testing.B) {
	e := eventOf("0e4b2a1c-5a0e-4b5e-9a57-0a4c4a1b8a11")
	run := func(name string, make func(b *testing.B) (process func(*audit.Event) bool, end func(context.Context))) {
		for _, parallel := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/parallel=%v", name, parallel), func(b *testing.B) {
				process, end := make(b)
				b.ReportAllocs()
				if parallel {
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							process(e)
						}
					})
				} else {
					for b.Loop() {
						process(e)
					}
				}
				b.StopTimer()
				end(context.Background())
			})
		}
	}
	run("mode=batch/buffer=empty", func(b *testing.B) (func(*audit.Event) bool, func(context.Context)) {
		c := benchConfig(b)
		q := newQueue(blackhole{}, logName, &Batch{Buffer: 1 << 20, Size: 1}, newFailures(logName, &c), newFailures(bufferedName, &c))
		return q.process, q.close
	})
	run("mode=batch/buffer=full", func(b *testing.B) (func(*audit.Event) bool, func(context.Context)) {
		c := benchConfig(b)
		h := &hanging{free: make(chan struct{})}
		q := newQueue(h, logName, &Batch{Buffer: 1, Size: 1}, newFailures(logName, &c), newFailures(bufferedName, &c))
		return q.process, func(ctx context.Context) {
			close(h.free)
			q.close(ctx)
		}
	})
	run("mode=blocking", func(b *testing.B) (func(*audit.Event) bool, func(context.Context)) {
		backends, err := New(benchConfig(b))
		if err != nil {
			b.Fatal(err)
		}
		return backends.Process, backends.Close
	})
}

// BenchmarkDeliver is what the worker pays for an event, apart from the buffer.
func BenchmarkDeliver(b *testing.B) {
	for _, format := range formats {
		for _, size := range []int{1, readyEvents} {
			b.Run(fmt.Sprintf("to=log/format=%s/batch=%d", format, size), func(b *testing.B) {
				c := benchConfig(b)
				c.Log.Format = format
				s, err := openLog(&c.Log)
				if err != nil {
					b.Fatal(err)
				}
				defer s.close(b.Context())
				deliver(b, s, size)
			})
		}
	}
	b.Run("to=webhook/batch=400", func(b *testing.B) {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer server.Close()
		c := hookConfig(b, benchConfig(b), server.URL)
		s, err := newWebhook(&c.Webhook, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer s.close(b.Context())
		deliver(b, s, 400)
	})
	b.Run("to=nothing/truncate/batch=400", func(b *testing.B) {
		c := benchConfig(b)
		deliver(b, &truncating{to: blackhole{}, bounds: defaultTruncate, tooLarge: newFailures(truncateName, &c)}, 400)
	})
}

// deliver delivers batches; an operation is one event.
func deliver(b *testing.B, s store, size int) {
	events := eventsOf("0e4b2a1c-5a0e-4b5e-9a57-0a4c4a1b8a11", size)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += size {
		if lost, err := s.deliver(b.Context(), events); lost > 0 {
			b.Fatal(err)
		}
	}
}

// TestProcessAllocatesNothing holds the mode batch to no allocation for an event.
func TestProcessAllocatesNothing(t *testing.T) {
	c := benchConfig(t)
	c.Log.Mode = ModeBatch
	q := newQueue(blackhole{}, logName, &Batch{Buffer: 1 << 16, Size: 1}, newFailures(logName, &c), newFailures(bufferedName, &c))
	e := eventOf("e")
	if n := testing.AllocsPerRun(1000, func() { q.process(e) }); n > 0 {
		t.Errorf("process: got %v allocations, want 0", n)
	}
	q.close(t.Context())
}
