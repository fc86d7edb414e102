package inspect_test

import (
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/servertest"
)

// maxIdle is the size of /metrics of an idle server in bytes, at most. A scrape of it costs about
// 2 ms (BenchmarkScrape).
const maxIdle = 300_000

// manyFeatures is the number of feature gates of Kubernetes, roughly, each with a long name.
func manyFeatures() (list []inspect.Feature) {
	for i := range 245 {
		name := "AuthorizePodWebsocketUpgradeSomething"
		list = append(list, inspect.Feature{Name: name[:20+i%17] + string(rune('a'+i%26)) + string(rune('a'+i/26)), Stage: "BETA"})
	}
	return list
}

func idleServer(tb testing.TB) *servertest.Server {
	var cfg server.Config
	cfg.Serving.Debug.Features = manyFeatures
	return servertest.Start(tb, cfg)
}

// TestIdleSize holds /metrics of an idle server to its ceiling.
func TestIdleSize(t *testing.T) {
	t.Parallel()
	s := idleServer(t)
	text := scrape(t, s, "/metrics")
	if len(text) > maxIdle {
		for name, f := range families(t, text) {
			if f.series > 50 {
				t.Logf("%s: %d lines", name, f.series)
			}
		}
		t.Errorf("got %d bytes, want %d at most", len(text), maxIdle)
	}
}

// BenchmarkScrape is a scrape of an idle server: the collection alone, and with the encoding, the
// filters and the connection.
func BenchmarkScrape(b *testing.B) {
	s := idleServer(b)
	b.Run("of=collection", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Server.Metrics.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("of=request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.ReportMetric(float64(len(scrape(b, s, "/metrics"))), "bytes")
		}
	})
}
