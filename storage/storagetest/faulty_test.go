package storagetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFaultyLaws checks that Faulty without faults changes nothing.
func TestFaultyLaws(t *testing.T) {
	Run(t, Engine{Open: func(*testing.T) storage.Store { return NewFaulty(memory.New(memory.Config{})) }})
}

func TestFaulty(t *testing.T) {
	for _, tt := range []struct {
		fault    Fault
		put, get storage.Kind
		applied  bool
	}{
		{None, 0, 0, true},
		{Refuse, storage.Unavailable, storage.Unavailable, false},
		{Lose, storage.InDoubt, storage.Unavailable, false},
		{Pretend, storage.InDoubt, storage.Unavailable, true},
	} {
		mem := memory.New(memory.Config{})
		f := NewFaulty(mem)
		f.FailAt(1, tt.fault)
		if _, err := f.Put(t.Context(), "/a/first", nil, storage.Pre{}, 0); err != nil {
			t.Errorf("fault %d: operation 0: %v", tt.fault, err)
		}
		if _, err := f.Put(t.Context(), "/a/x", nil, storage.Pre{}, 0); storage.KindOf(err) != tt.put {
			t.Errorf("fault %d: Put: got %v, want %v", tt.fault, err, tt.put)
		}
		if _, err := mem.Get(t.Context(), "/a/x"); (err == nil) != tt.applied {
			t.Errorf("fault %d: applied: got %v, want %v", tt.fault, err == nil, tt.applied)
		}
		f.FailAt(0, tt.fault)
		if _, err := f.Get(t.Context(), "/a/first"); storage.KindOf(err) != tt.get {
			t.Errorf("fault %d: Get: got %v, want %v", tt.fault, err, tt.get)
		}
		if f.Ops() != 1 {
			t.Errorf("fault %d: got %d operations, want 1", tt.fault, f.Ops())
		}
		mem.Close()
	}
}
