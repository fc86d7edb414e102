package embedded_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

func openBench(b *testing.B) *embedded.Store {
	b.Helper()
	s, err := embedded.Open(b.Context(), embedded.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkOpen(b *testing.B) {
	for _, reopen := range []bool{false, true} {
		b.Run(fmt.Sprintf("existing=%v", reopen), func(b *testing.B) {
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				d := dir
				if !reopen {
					d = fmt.Sprintf("%s/%d", dir, i)
				}
				s, err := embedded.Open(b.Context(), embedded.Config{Dir: d})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPut reports the processor time of a durable write as well as its throughput.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openBench(b)
			value := bytes.Repeat([]byte("x"), 1536)
			b.ReportAllocs()
			work := make(chan int, 1024)
			var wg sync.WaitGroup
			begin := cpu()
			for range writers {
				wg.Go(func() {
					for i := range work {
						if _, err := s.Put(b.Context(), fmt.Sprintf("/bench/%d", i%1000), value, storage.Pre{}, 0); err != nil {
							b.Error(err)
						}
					}
				})
			}
			n := 0
			for ; b.Loop(); n++ {
				work <- n
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64((cpu()-begin).Microseconds())/float64(n), "cpu-us/op")
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := openBench(b)
	for i := range 1000 {
		s.Put(b.Context(), fmt.Sprintf("/bench/%d", i), []byte("value"), storage.Pre{}, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), "/bench/42"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRange(b *testing.B) {
	s := openBench(b)
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < 5000; i += 16 {
				s.Put(b.Context(), fmt.Sprintf("/bench/%04d", i), bytes.Repeat([]byte("x"), 1536), storage.Pre{}, 0)
			}
		})
	}
	wg.Wait()
	for _, limit := range []int{1, 500, 0} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Range(b.Context(), storage.RangeRequest{Prefix: "/bench/", Limit: limit}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRevision(b *testing.B) {
	s := openBench(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Revision(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch measures a write until all cursors have it.
func BenchmarkWatch(b *testing.B) {
	for _, cursors := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("cursors=%d", cursors), func(b *testing.B) {
			s := openBench(b)
			var all []storage.Cursor
			for range cursors {
				c, err := s.Watch(b.Context(), storage.WatchRequest{Prefix: "/bench/"})
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, c)
			}
			b.ReportAllocs()
			for b.Loop() {
				e, err := s.Put(b.Context(), "/bench/x", []byte("value"), storage.Pre{}, 0)
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range all {
					if batch, err := c.Next(b.Context()); err != nil || batch.Rev != e.Rev {
						b.Fatal(batch.Rev, e.Rev, err)
					}
				}
			}
		})
	}
}

// BenchmarkResident reports the resident memory after many updates of few keys, with compactions as
// the server makes them.
func BenchmarkResident(b *testing.B) {
	for _, compact := range []int{0, 5000} {
		b.Run(fmt.Sprintf("updates=100000/compactEvery=%d", compact), func(b *testing.B) {
			for b.Loop() {
				s := openBench(b)
				churn(b, s, 100_000, compact)
				time.Sleep(500 * time.Millisecond)
				rss, file := resident()
				size, used := s.Size()
				b.ReportMetric(rss, "RSS-MiB")
				b.ReportMetric(file, "RSS-file-MiB")
				b.ReportMetric(float64(size)/(1<<20), "db-MiB")
				b.ReportMetric(float64(used)/(1<<20), "used-MiB")
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MiB")
				b.ReportMetric(float64(m.Sys)/(1<<20), "sys-MiB")
				s.Close()
			}
		})
	}
}

func churn(b *testing.B, s *embedded.Store, n, compact int) {
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			value := bytes.Repeat([]byte("x"), 1536)
			for i := w; i < n; i += 16 {
				e, err := s.Put(b.Context(), fmt.Sprintf("/bench/%04d", i%1000), value, storage.Pre{}, 0)
				if err != nil {
					b.Error(err)
				}
				if compact > 0 && int(e.Rev)%compact == 0 {
					s.Compact(b.Context(), e.Rev-storage.Revision(compact)/2)
				}
			}
		})
	}
	wg.Wait()
}

// resident returns the resident memory of the process, and the part that is mapped files, in MiB
// (Linux only).
func resident() (all, file float64) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			all = kb / 1024
		case "RssFile:":
			file = kb / 1024
		}
	}
	return all, file
}

// BenchmarkDefragment defragments a store of 256 MiB of which a tenth is in use. It reports the
// longest time that one of 8 writers waited for a durable write meanwhile, and the longest in an
// equal time before.
func BenchmarkDefragment(b *testing.B) {
	s := openBench(b)
	for b.Loop() {
		b.StopTimer()
		sparse(b, s, 256)
		before := longestWait(b, s, func() error { time.Sleep(5 * time.Second); return nil })
		b.StartTimer()
		during := longestWait(b, s, func() error { _, err := s.Defragment(b.Context()); return err })
		b.ReportMetric(float64(before.Milliseconds()), "before-max-ms")
		b.ReportMetric(float64(during.Milliseconds()), "max-ms")
	}
}

// longestWait returns the longest time that a write took while fn ran.
func longestWait(b *testing.B, s *embedded.Store, fn func() error) time.Duration {
	b.Helper()
	stop, longest := make(chan struct{}), make([]time.Duration, 8)
	var writing sync.WaitGroup
	for w := range longest {
		writing.Go(func() {
			value := make([]byte, 1024)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				begin := time.Now()
				if _, err := s.Put(b.Context(), fmt.Sprintf("/wait/%d/%d", w, i%100), value, storage.Pre{}, 0); err != nil {
					b.Error(err)
					return
				}
				longest[w] = max(longest[w], time.Since(begin))
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	if err := fn(); err != nil {
		b.Error(err)
	}
	close(stop)
	writing.Wait()
	return slices.Max(longest)
}
