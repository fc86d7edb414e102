package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaws(t *testing.T) {
	storagetest.Run(t, storagetest.Engine{
		Open: func(*testing.T) storage.Store { return memory.New(memory.Config{}) },
	})
}

func put(tb testing.TB, s storage.Store, key string, value []byte) storage.Revision {
	tb.Helper()
	e, err := s.Put(tb.Context(), key, value, storage.Pre{}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return e.Rev
}

// TestHistoryIsBounded checks both bounds. Only the revisions beyond them are Compacted.
func TestHistoryIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   memory.Config
		value int
		most  storage.Revision // revisions kept
	}{
		{"by number", memory.Config{History: 10}, 1, 10},
		{"by bytes", memory.Config{HistoryBytes: 10 << 10}, 1 << 10, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := memory.New(tt.cfg)
			defer s.Close()
			for i := range 100 {
				put(t, s, fmt.Sprintf("/a/%d", i%3), bytes.Repeat([]byte{byte(i)}, tt.value))
			}
			now := s.Current()
			oldest := now
			for ; oldest > 0; oldest-- {
				res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/", Rev: oldest})
				if errors.Is(err, storage.Compacted) {
					break
				}
				if err != nil || len(res.Entries) != 3 || res.Entries[(int(oldest)-2)%3].Rev != oldest {
					t.Fatalf("Range at %d: got %+v, %v", oldest, res, err)
				}
			}
			if kept := now - oldest; kept < 2 || kept > tt.most+1 {
				t.Errorf("kept %d revisions, want at most %d", kept, tt.most)
			}
		})
	}
}

func TestStartState(t *testing.T) {
	s := memory.New(memory.Config{Rev: 9, Entries: []storage.Entry{{Key: "/a/x", Value: []byte("1"), Rev: 7}}})
	defer s.Close()
	if e, err := s.Get(t.Context(), "/a/x"); err != nil || e.Rev != 7 {
		t.Errorf("Get: got %+v, %v", e, err)
	}
	if _, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/", After: 8}); !errors.Is(err, storage.Compacted) {
		t.Errorf("Watch from before the start: got %v", err)
	}
	if rev := put(t, s, "/a/x", nil); rev != 10 {
		t.Errorf("first write: got revision %d, want 10", rev)
	}
}

// TestRangeDuringCuts lists at old revisions while writes cut the history: every answer is
// complete, or Compacted.
func TestRangeDuringCuts(t *testing.T) {
	s := memory.New(memory.Config{History: 64})
	defer s.Close()
	const keys = 200
	for i := range 2 * keys {
		put(t, s, fmt.Sprintf("/a/%03d", i%keys), nil)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.Put(context.Background(), fmt.Sprintf("/a/%03d", i*7%keys), nil, storage.Pre{}, 0)
			}
		}
	})
	whole := 0
	for range 2000 {
		res, err := s.Range(t.Context(), storage.RangeRequest{Prefix: "/a/", Rev: s.Current() - 60})
		if err != nil && !errors.Is(err, storage.Compacted) {
			t.Error(err)
		}
		if err == nil {
			if whole++; len(res.Entries) != keys {
				t.Errorf("Range at %d: got %d keys, want %d", res.Rev, len(res.Entries), keys)
			}
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d of 2000 lists were whole", whole)
}

func TestAllocations(t *testing.T) {
	s := memory.New(memory.Config{})
	defer s.Close()
	put(t, s, "/a/x", []byte("v"))
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		most float64
		call func()
	}{
		{"Get", 0, func() { s.Get(ctx, "/a/x") }},
		{"Revision", 0, func() { s.Revision(ctx) }},
		{"Put", 2, func() { s.Put(ctx, "/a/x", nil, storage.Pre{}, 0) }},
	} {
		if got := testing.AllocsPerRun(1000, tt.call); got > tt.most {
			t.Errorf("%s: got %v allocations, want at most %v", tt.name, got, tt.most)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), "/bench/00042"); err != nil {
			b.Fatal(err)
		}
	}
}

func filled(b *testing.B, n int) *memory.Store {
	s := memory.New(memory.Config{})
	b.Cleanup(func() { s.Close() })
	for i := range n {
		put(b, s, fmt.Sprintf("/bench/%05d", i), []byte("value"))
	}
	return s
}

func BenchmarkPut(b *testing.B) {
	s := filled(b, 10_000)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("/bench/%05d", i*7)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Put(b.Context(), keys[i%len(keys)], nil, storage.Pre{}, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRange(b *testing.B) {
	s := filled(b, 10_000)
	for _, limit := range []int{1, 500, 0} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res, err := s.Range(b.Context(), storage.RangeRequest{Prefix: "/bench/", Limit: limit}); err != nil || res.Count != 10_000 {
					b.Fatal(res.Count, err)
				}
			}
		})
	}
}

func BenchmarkRevision(b *testing.B) {
	s := memory.New(memory.Config{})
	b.Cleanup(func() { s.Close() })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Revision(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch measures a write until all cursors have it.
func BenchmarkWatch(b *testing.B) {
	for _, cursors := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("cursors=%d", cursors), func(b *testing.B) {
			s := memory.New(memory.Config{})
			defer s.Close()
			all := make([]storage.Cursor, cursors)
			for i := range all {
				var err error
				if all[i], err = s.Watch(b.Context(), storage.WatchRequest{Prefix: "/bench/"}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				rev := put(b, s, "/bench/x", nil)
				for _, c := range all {
					if batch, err := c.Next(b.Context()); err != nil || batch.Rev != rev {
						b.Fatal(batch.Rev, rev, err)
					}
				}
			}
		})
	}
}
