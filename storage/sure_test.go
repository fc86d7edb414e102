package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSureLaws(t *testing.T) {
	storagetest.Run(t, storagetest.Engine{
		Open: func(*testing.T) storage.Store { return storage.Sure(memory.New(memory.Config{})) },
	})
}

// doubted is a store whose first write is lost or pretended to be, and what others do meanwhile.
type doubted struct {
	*storagetest.Faulty
	meanwhile func(s storage.Store)
}

func (d *doubted) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	e, err := d.Faulty.Put(ctx, key, value, pre, lease)
	if m := d.meanwhile; errors.Is(err, storagetest.ErrInjected) && m != nil {
		d.meanwhile = nil
		m(d.Faulty.Store)
	}
	return e, err
}

func (d *doubted) Delete(ctx context.Context, key string, pre storage.Pre) (storage.Revision, error) {
	rev, err := d.Faulty.Delete(ctx, key, pre)
	if m := d.meanwhile; errors.Is(err, storagetest.ErrInjected) && m != nil {
		d.meanwhile = nil
		m(d.Faulty.Store)
	}
	return rev, err
}

func TestSurePut(t *testing.T) {
	const key = "/a/x"
	overwrite := func(s storage.Store) { s.Put(context.Background(), key, []byte("other"), storage.Pre{}, 0) }
	remove := func(s storage.Store) { s.Delete(context.Background(), key, storage.Pre{}) }
	for _, tt := range []struct {
		name      string
		pre       storage.Pre // Rev 2 is the first write's
		fault     storagetest.Fault
		meanwhile func(storage.Store)
		want      storage.Kind     // 0: success
		rev       storage.Revision // of the entry, or of the error
	}{
		{"create, lost", storage.Pre{Absent: true}, storagetest.Lose, nil, 0, 2},
		{"create, applied", storage.Pre{Absent: true}, storagetest.Pretend, nil, 0, 2},
		{"create, lost, other created", storage.Pre{Absent: true}, storagetest.Lose, overwrite, storage.InDoubt, 0},
		{"update, lost", storage.Pre{Rev: 2}, storagetest.Lose, nil, 0, 3},
		{"update, applied", storage.Pre{Rev: 2}, storagetest.Pretend, nil, 0, 3},
		{"update, lost, other wrote", storage.Pre{Rev: 2}, storagetest.Lose, overwrite, storage.Conflict, 3},
		{"update, applied, other wrote", storage.Pre{Rev: 2}, storagetest.Pretend, overwrite, 0, 3},
		{"update, applied, other deleted", storage.Pre{Rev: 2}, storagetest.Pretend, remove, 0, 3},
		{"update, lost, other deleted", storage.Pre{Rev: 2}, storagetest.Lose, remove, storage.NotFound, 3},
		{"blind, applied", storage.Pre{}, storagetest.Pretend, nil, 0, 2},
		{"blind, lost", storage.Pre{}, storagetest.Lose, nil, storage.InDoubt, 0},
		{"refused", storage.Pre{}, storagetest.Refuse, nil, storage.Unavailable, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := memory.New(memory.Config{})
			defer mem.Close()
			if tt.pre.Rev != 0 {
				mem.Put(t.Context(), key, []byte("old"), storage.Pre{}, 0)
			}
			d := &doubted{Faulty: storagetest.NewFaulty(mem), meanwhile: tt.meanwhile}
			d.FailAt(0, tt.fault)
			e, err := storage.Sure(d).Put(t.Context(), key, []byte("new"), tt.pre, 0)
			checkOutcome(t, e.Rev, err, tt.want, tt.rev)
		})
	}
}

func TestSureDelete(t *testing.T) {
	const key = "/a/x"
	overwrite := func(s storage.Store) { s.Put(context.Background(), key, []byte("other"), storage.Pre{}, 0) }
	for _, tt := range []struct {
		name      string
		pre       storage.Pre
		fault     storagetest.Fault
		meanwhile func(storage.Store)
		want      storage.Kind
		rev       storage.Revision
	}{
		{"lost", storage.Pre{Rev: 2}, storagetest.Lose, nil, 0, 3},
		{"applied", storage.Pre{Rev: 2}, storagetest.Pretend, nil, 0, 3},
		{"lost, other wrote", storage.Pre{Rev: 2}, storagetest.Lose, overwrite, storage.Conflict, 3},
		{"applied, other created", storage.Pre{Rev: 2}, storagetest.Pretend, overwrite, 0, 3},
		{"blind, applied", storage.Pre{}, storagetest.Pretend, nil, 0, 3},
		{"blind, lost", storage.Pre{}, storagetest.Lose, nil, storage.InDoubt, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := memory.New(memory.Config{})
			defer mem.Close()
			mem.Put(t.Context(), key, []byte("old"), storage.Pre{}, 0)
			d := &doubted{Faulty: storagetest.NewFaulty(mem), meanwhile: tt.meanwhile}
			d.FailAt(0, tt.fault)
			rev, err := storage.Sure(d).Delete(t.Context(), key, tt.pre)
			checkOutcome(t, rev, err, tt.want, tt.rev)
		})
	}
}

func checkOutcome(t *testing.T, rev storage.Revision, err error, want storage.Kind, wantRev storage.Revision) {
	t.Helper()
	if want == 0 {
		if err != nil || rev != wantRev {
			t.Errorf("got revision %d, %v, want %d", rev, err, wantRev)
		}
		return
	}
	var e *storage.Error
	if !errors.As(err, &e) || e.Kind != want || e.Rev != wantRev {
		t.Errorf("got %v, want %s at %d", err, want.Error(), wantRev)
	}
}

func TestSureGivesUp(t *testing.T) {
	f := storagetest.NewFaulty(memory.New(memory.Config{}))
	defer f.Close()
	f.Plan(func(int, string) storagetest.Fault { return storagetest.Lose })
	if _, err := storage.Sure(f).Put(t.Context(), "/a/x", nil, storage.Pre{Absent: true}, 0); !errors.Is(err, storage.InDoubt) {
		t.Errorf("Put over a dead store: got %v, want InDoubt", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := storage.Sure(f).Delete(ctx, "/a/x", storage.Pre{Rev: 1}); !errors.Is(err, storage.InDoubt) {
		t.Errorf("Delete with an ending context: got %v, want InDoubt", err)
	}
}

// TestSureCounts increments a counter through a store with random faults: every success counts once.
func TestSureCounts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	f := storagetest.NewFaulty(memory.New(memory.Config{}))
	defer f.Close()
	f.Plan(func(int, string) storagetest.Fault {
		if r.IntN(4) > 0 {
			return storagetest.None
		}
		return storagetest.Fault(1 + r.IntN(3))
	})
	s := storage.Sure(f)
	rev, n := storage.Revision(0), 0
	for i := range 60 {
		e, err := s.Put(t.Context(), "/a/n", fmt.Append(nil, n+1), storage.Pre{Rev: rev, Absent: rev == 0}, 0)
		if err == nil {
			rev, n = e.Rev, n+1
			continue
		}
		if k := storage.KindOf(err); k != storage.Unavailable && k != storage.InDoubt {
			t.Fatalf("seed %d, write %d: %v", seed, i, err)
		}
		cur, err := f.Store.Get(t.Context(), "/a/n") // after InDoubt the caller reads
		if err == nil {
			rev = cur.Rev
			fmt.Sscan(string(cur.Value), &n)
		}
	}
	cur, err := f.Store.Get(t.Context(), "/a/n")
	if err != nil || string(cur.Value) != fmt.Sprint(n) || cur.Rev != storage.Revision(n+1) {
		t.Errorf("seed %d: counter: got %s at %d, %v, want %d at %d", seed, cur.Value, cur.Rev, err, n, n+1)
	}
}
