package ports_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/ports"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

const key = "/registry/ranges/servicenodeports"

// open returns an allocator over a store, which other allocators may share.
func open(t *testing.T, store storage.Store, span ports.Span) *ports.Allocator {
	t.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	codecs := codec.NewFactory(s)
	cfg := &registry.Config{Kinds: kind.NewTypes(s, codecs), Codecs: codecs}
	records, err := registry.RecordsOf[*corev1.RangeAllocation](cfg, store, meta.GroupKind{Kind: "RangeAllocation"}, "/registry/"+ports.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	a := ports.New(span)
	a.Open(records)
	return a
}

// begin creates the record, with no port taken.
func begin(t *testing.T, a *ports.Allocator) {
	t.Helper()
	if ok, err := a.Replace(t.Context(), ports.NewSet(a.Span()), 0); !ok || err != nil {
		t.Fatalf("Replace: got %v, %v, want true", ok, err)
	}
}

func newStore(t *testing.T) *memory.Store {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	return store
}

func TestParseSpan(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string // "" without an error is the empty span
		bad  bool
	}{
		{"30000-32767", "30000-32767", false},
		{"30000+10", "30000-30010", false},
		{" 80 ", "80-80", false},
		{"0-0", "0-0", false},
		{"", "", false},
		{"2-1", "", true},
		{"1-65536", "", true},
		{"65000+1000", "", true},
		{"1+-5", "", true},
		{"-5", "", true},
		{"a-b", "", true},
		{"1-2-3", "", true},
		{"1+9999999999999999999", "", true},
	} {
		got, err := ports.ParseSpan(tt.text)
		if (err != nil) != tt.bad || got.String() != tt.want {
			t.Errorf("ParseSpan(%q): got %q, %v, want %q, error %v", tt.text, got, err, tt.want, tt.bad)
		}
	}
}

func TestSet(t *testing.T) {
	s := ports.NewSet(ports.Span{Base: 100, Size: 10})
	if err := s.Take(105); err != nil {
		t.Errorf("Take of a free port: %v", err)
	}
	if err := s.Take(105); err != ports.ErrAllocated {
		t.Errorf("Take again: got %v, want %v", err, ports.ErrAllocated)
	}
	for _, port := range []int{99, 110, 0, -1} {
		want := "provided port is not in the valid range. The range of valid ports is 100-109"
		if err := s.Take(port); err == nil || err.Error() != want {
			t.Errorf("Take(%d): got %v, want %q", port, err, want)
		}
	}
	s.Release(105)
	s.Release(1)
	for range 10 {
		if _, err := s.TakeNext(); err != nil {
			t.Fatalf("TakeNext: %v", err)
		}
	}
	if _, err := s.TakeNext(); err != ports.ErrFull {
		t.Errorf("TakeNext of a full set: got %v, want %v", err, ports.ErrFull)
	}
	if got := slices.Collect(s.All()); len(got) != 10 || got[0] != 100 || got[9] != 109 {
		t.Errorf("All: got %v, want 100 to 109", got)
	}
}

// TestReservedPortsAreLast: TakeNext takes a port of the static band only if no other port is free.
func TestReservedPortsAreLast(t *testing.T) {
	for _, tt := range []struct{ size, low int }{{16, 0}, {17, 16}, {640, 20}, {2768, 86}, {60000, 128}} {
		s := ports.NewSet(ports.Span{Base: 1000, Size: tt.size})
		for i := range tt.size {
			port, err := s.TakeNext()
			if err != nil {
				t.Fatal(err)
			}
			if low := port < 1000+tt.low; low != (i >= tt.size-tt.low) {
				t.Fatalf("%d ports: number %d taken is %d, with %d reserved", tt.size, i, port, tt.low)
			}
		}
	}
}

func TestNothingIsHandedOutBeforeTheRecordIsThere(t *testing.T) {
	a := open(t, newStore(t), ports.Span{Base: 1, Size: 10})
	err := a.Change(t.Context(), func(s *ports.Set) error { return s.Take(5) })
	if want := "cannot allocate resources of type servicenodeportallocations at this time"; err == nil || err.Error() != want {
		t.Errorf("Change: got %v, want %q", err, want)
	}
}

func TestAnotherRange(t *testing.T) {
	store := newStore(t)
	begin(t, open(t, store, ports.Span{Base: 1, Size: 10}))
	a := open(t, store, ports.Span{Base: 1, Size: 11})
	err := a.Change(t.Context(), func(s *ports.Set) error { return s.Take(5) })
	if err == nil || !strings.Contains(err.Error(), "range does not match") {
		t.Errorf("Change: got %v, want that the range does not match", err)
	}
}

// TestRecord: the record has the format that kube-apiserver reads and writes.
func TestRecord(t *testing.T) {
	store := newStore(t)
	a := open(t, store, ports.Span{Base: 30000, Size: 2768})
	begin(t, a)
	take := func(s *ports.Set) error { return errors.Join(s.Take(30000), s.Take(30009)) }
	if err := a.Change(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	e, err := store.Get(t.Context(), key)
	want := `{"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":"30000-32767","data":"AgE="}`
	if err != nil || string(e.Value) != want {
		t.Errorf("stored: got %s, %v, want %s", e.Value, err, want)
	}
	// A record of another server, with bits for ports outside of the range.
	data := base64.StdEncoding.EncodeToString(append([]byte{1}, make([]byte, 346)...))
	other := `{"kind":"RangeAllocation","apiVersion":"v1","metadata":{"creationTimestamp":null},"range":"30000-32767","data":"` + data + `"}`
	if _, err := store.Put(t.Context(), key, []byte(other), storage.Pre{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Change(t.Context(), take); err != nil {
		t.Errorf("the ports that the other has released: %v", err)
	}
}

// TestFailedChange: a change that fails takes nothing, even if other changes are written in the
// same batch.
func TestFailedChange(t *testing.T) {
	a := open(t, newStore(t), ports.Span{Base: 1, Size: 10})
	begin(t, a)
	refused := errors.New("refused")
	if err := a.Change(t.Context(), func(s *ports.Set) error { return errors.Join(s.Take(3), refused) }); !errors.Is(err, refused) {
		t.Errorf("Change: got %v, want %v", err, refused)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Change(ended, func(s *ports.Set) error { return s.Take(4) }); !errors.Is(err, context.Canceled) {
		t.Errorf("Change by one who is gone: got %v, want %v", err, context.Canceled)
	}
	if s, _, err := a.Load(t.Context()); err != nil || len(slices.Collect(s.All())) != 0 {
		t.Errorf("Load: got %v, %v, want nothing taken", slices.Collect(s.All()), err)
	}
}

// slow is a store whose writes wait until the test lets them go on.
type slow struct {
	storage.Store
	begun, proceed chan struct{}
}

func (s *slow) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	s.begun <- struct{}{}
	<-s.proceed
	return s.Store.Put(ctx, key, value, pre, lease)
}

// TestChangeEnds: a change whose request has ended returns at once, whether it waits or is being
// written. Its ports are released. Another change in the same write is kept.
func TestChangeEnds(t *testing.T) {
	store := &slow{newStore(t), make(chan struct{}), make(chan struct{})}
	a := open(t, store, ports.Span{Base: 1, Size: 10})
	fast := open(t, store.Store, a.Span())
	begin(t, fast)
	change := func(ctx context.Context, port int) chan error {
		ended := make(chan error, 1)
		go func() { ended <- a.Change(ctx, func(s *ports.Set) error { return s.Take(port) }) }()
		return ended
	}
	writer, leave := context.WithCancel(t.Context())
	waiter, leaveToo := context.WithCancel(t.Context())
	first := change(writer, 1)
	<-store.begun
	second, third := change(waiter, 2), change(t.Context(), 3)
	leave()
	leaveToo()
	for what, ended := range map[string]chan error{"the writer": first, "who waits": second} {
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want %v", what, err, context.Canceled)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s does not end with its request", what)
		}
	}
	go func() {
		for range store.begun {
			store.proceed <- struct{}{}
		}
	}()
	store.proceed <- struct{}{}
	if err := <-third; err != nil {
		t.Errorf("the change of another: %v", err)
	}
	if err := a.Release(t.Context(), []int{9}); err != nil { // waits for all earlier changes
		t.Error(err)
	}
	if s, _, err := fast.Load(t.Context()); err != nil || !slices.Equal(slices.Collect(s.All()), []int{3}) {
		t.Errorf("Load: got %v, %v, want port 3 alone", slices.Collect(s.All()), err)
	}
	close(store.begun)
}

// TestContention: two servers with many clients each share one store. No port is given to two
// clients, and no client is refused a free port.
func TestContention(t *testing.T) {
	const size, clients = 300, 10
	store := newStore(t)
	allocators := []*ports.Allocator{open(t, store, ports.Span{Base: 1, Size: size}), open(t, store, ports.Span{Base: 1, Size: size})}
	begin(t, allocators[0])
	var mu sync.Mutex
	owner := map[int]string{}
	var wg sync.WaitGroup
	for i, a := range allocators {
		for c := range clients {
			wg.Go(func() {
				me := fmt.Sprint(i, c)
				for n := range size / clients / 2 {
					var port int
					err := a.Change(t.Context(), func(s *ports.Set) (err error) {
						port, err = s.TakeNext()
						return err
					})
					mu.Lock()
					if other, taken := owner[port]; err != nil || taken {
						t.Errorf("%s: port %d, which %q has, %v", me, port, other, err)
					}
					owner[port] = me
					mu.Unlock()
					if n%3 != 0 {
						continue
					}
					mu.Lock()
					delete(owner, port)
					mu.Unlock()
					if err := a.Release(t.Context(), []int{port}); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	s, _, err := allocators[1].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(s.All()); len(got) != len(owner) {
		t.Errorf("%d ports are taken in the record, and %d by clients", len(got), len(owner))
	}
}

// TestStaleGuess: an allocator's copy of the record may be out of date, so that it refuses nothing
// without reading the record.
func TestStaleGuess(t *testing.T) {
	store := newStore(t)
	a, b := open(t, store, ports.Span{Base: 1, Size: 10}), open(t, store, ports.Span{Base: 1, Size: 10})
	begin(t, a)
	take := func(s *ports.Set) error { return s.Take(7) }
	if err := a.Change(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	if err := b.Release(t.Context(), []int{7}); err != nil {
		t.Fatal(err)
	}
	if err := a.Change(t.Context(), take); err != nil {
		t.Errorf("take what another has released: %v", err)
	}
}

// TestInDoubt: if it is unknown whether a port was taken, the change fails with InDoubt. The next
// change finds out, because it reads the record.
func TestInDoubt(t *testing.T) {
	for _, tt := range []struct {
		fault storagetest.Fault
		taken bool
	}{{storagetest.Pretend, true}, {storagetest.Lose, false}} {
		store := storagetest.NewFaulty(newStore(t))
		a := open(t, store, ports.Span{Base: 1, Size: 10})
		begin(t, a)
		store.FailAt(1, tt.fault) // the write; the read before it does not fail
		err := a.Change(t.Context(), func(s *ports.Set) error { return s.Take(5) })
		if !errors.Is(err, storage.InDoubt) {
			t.Fatalf("Change: got %v, want %v", err, storage.InDoubt)
		}
		if s, _, err := a.Load(t.Context()); err != nil || s.Has(5) != tt.taken {
			t.Errorf("fault %d: got %v, %v, want %v", tt.fault, s.Has(5), err, tt.taken)
		}
		err = a.Change(t.Context(), func(s *ports.Set) error { return s.Take(5) })
		if errors.Is(err, ports.ErrAllocated) != tt.taken {
			t.Errorf("fault %d: take it again: got %v", tt.fault, err)
		}
	}
}
