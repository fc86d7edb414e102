package embedded_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
)

func openQuick(t testing.TB) *embedded.Store {
	t.Helper()
	s, err := embedded.Open(t.Context(), embedded.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fill writes n changes of keys under prefix and returns the revision before them.
func fill(t testing.TB, s *embedded.Store, prefix string, n, size int) storage.Revision {
	t.Helper()
	first, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const writers = 8
	value := bytes.Repeat([]byte("x"), size)
	var wg sync.WaitGroup
	for g := range writers {
		wg.Go(func() {
			for i := g; i < n; i += writers {
				if _, err := s.Put(t.Context(), fmt.Sprintf("%s%d", prefix, i%100), value, storage.Pre{}, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

// TestPastMeetsPresent begins watches at past revisions while writes go on. Each watch shows every
// change once.
func TestPastMeetsPresent(t *testing.T) {
	t.Parallel()
	s := openQuick(t)
	first := fill(t, s, "/a/", 1500, 100)
	const more = 3000
	last := first + 1500 + more
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for begin := first + storage.Revision(g); begin < last; begin += 1000 {
				c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", After: begin, Prev: g%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				for next := begin + 1; next <= last; {
					b, err := c.Next(t.Context())
					if err != nil {
						t.Errorf("Next before %d: %v", next, err)
						return
					}
					for _, ev := range b.Events {
						if ev.Rev != next {
							t.Errorf("watch after %d: got %d, want %d", begin, ev.Rev, next)
							return
						}
						next++
					}
				}
				c.Close()
			}
		})
	}
	fill(t, s, "/a/", more, 100)
	wg.Wait()
}

// TestPastInParts: large changes come in batches of a bounded size, and changes under other
// prefixes are left out.
func TestPastInParts(t *testing.T) {
	t.Parallel()
	s := openQuick(t)
	first := fill(t, s, "/a/", 40, 200<<10)
	fill(t, s, "/b/", 2000, 10)
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", After: first})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for got := 0; got < 40; {
		b, err := c.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, ev := range b.Events {
			size += len(ev.Value)
		}
		if size > 2<<20 {
			t.Errorf("got a batch of %d MiB, want about 1", size>>20)
		}
		got += len(b.Events)
	}
	c.Progress()
	now, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := c.Next(t.Context()); err != nil || b.Rev != now || len(b.Events) != 0 {
		t.Errorf("progress: got %+v, %v, want revision %d", b, err, now)
	}
}

// TestPastCompacted: a watch ends if its position is compacted before it is read.
func TestPastCompacted(t *testing.T) {
	t.Parallel()
	s := openQuick(t)
	first := fill(t, s, "/a/", 3000, 10)
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", After: first})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if b, err := c.Next(t.Context()); err != nil || len(b.Events) == 0 || b.Events[0].Rev != first+1 {
		t.Fatalf("Next: got %+v, %v, want events from %d on", b, err, first+1)
	}
	if err := s.Compact(t.Context(), first+2500); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Next(t.Context()); !errors.Is(err, storage.Compacted) {
		t.Errorf("Next behind the compaction: got %+v, %v, want %v", b, err, storage.Compacted)
	}
}

// BenchmarkPast measures the cost of a change in a watch from a past revision.
func BenchmarkPast(b *testing.B) {
	for _, prev := range []bool{false, true} {
		b.Run(fmt.Sprintf("prev=%t", prev), func(b *testing.B) {
			const n = 10_000
			s := openQuick(b)
			first := fill(b, s, "/a/", n, 1000)
			b.ReportAllocs()
			for b.Loop() {
				c, err := s.Watch(b.Context(), storage.WatchRequest{Prefix: "/a/", After: first, Prev: prev})
				if err != nil {
					b.Fatal(err)
				}
				for got := 0; got < n; {
					batch, err := c.Next(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					got += len(batch.Events)
				}
				c.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
}
