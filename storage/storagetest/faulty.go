package storagetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// Fault is what goes wrong in one operation of a Faulty.
type Fault uint8

// These are the faults.
const (
	None Fault = iota // the operation is done

	Refuse  // nothing is done; the error is Unavailable
	Lose    // nothing is done; the error of a write is InDoubt, of other operations Unavailable
	Pretend // a write is done and returns InDoubt, or its own error; other operations return Unavailable
)

// ErrInjected is the cause of every error that Faulty makes.
var ErrInjected = errors.New("injected fault")

// Faulty wraps a store and lets some of its operations fail. Cursors work as those of the store;
// only opening one can fail. All methods may be called at once.
type Faulty struct {
	storage.Store
	mu struct {
		sync.Mutex
		n    int                          // operations since the plan was set
		plan func(n int, op string) Fault // nil: no faults
	}
}

// NewFaulty returns a wrapper of s that lets nothing fail until Plan or FailAt is called.
func NewFaulty(s storage.Store) *Faulty { return &Faulty{Store: s} }

// Unwrap implements storage.Wrapper.
func (f *Faulty) Unwrap() storage.Store { return f.Store }

// Plan sets the function that decides on each operation. n counts the operations from 0, and op is
// the name of the method in lower case. A nil function ends the faults.
func (f *Faulty) Plan(plan func(n int, op string) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.n, f.mu.plan = 0, plan
}

// FailAt lets operation i fail, counted from 0 from this call on, and no other.
func (f *Faulty) FailAt(i int, fault Fault) {
	f.Plan(func(n int, _ string) Fault {
		if n == i {
			return fault
		}
		return None
	})
}

// Ops returns the number of operations since the last Plan or FailAt.
func (f *Faulty) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.n
}

// next counts an operation and returns its fault.
func (f *Faulty) next(op string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.mu.n
	f.mu.n++
	if f.mu.plan == nil {
		return None
	}
	return f.mu.plan(n, op)
}

// do runs call unless the fault of the operation forbids it, and makes the error of the fault.
func (f *Faulty) do(op, key string, write bool, call func() error) error {
	fault := f.next(op)
	if fault == None {
		return call()
	}
	// The write reaches the store, and the caller is told that its outcome is unknown: this is the
	// case that a retry must survive.
	if fault == Pretend && write {
		if err := call(); err != nil {
			return err
		}
	}
	kind := storage.Unavailable
	if write && fault != Refuse {
		kind = storage.InDoubt
	}
	return &storage.Error{Op: op, Key: key, Kind: kind, Err: ErrInjected}
}

// Get implements storage.Store.
func (f *Faulty) Get(ctx context.Context, key string) (e storage.Entry, err error) {
	err = f.do("get", key, false, func() error { e, err = f.Store.Get(ctx, key); return err })
	return e, err
}

// Range implements storage.Store.
func (f *Faulty) Range(ctx context.Context, req storage.RangeRequest) (res storage.RangeResult, err error) {
	err = f.do("range", req.Prefix, false, func() error { res, err = f.Store.Range(ctx, req); return err })
	return res, err
}

// Put implements storage.Store.
func (f *Faulty) Put(
	ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID,
) (e storage.Entry, err error) {
	err = f.do("put", key, true, func() error { e, err = f.Store.Put(ctx, key, value, pre, lease); return err })
	if err != nil {
		return storage.Entry{}, err
	}
	return e, nil
}

// Delete implements storage.Store.
func (f *Faulty) Delete(ctx context.Context, key string, pre storage.Pre) (rev storage.Revision, err error) {
	err = f.do("delete", key, true, func() error { rev, err = f.Store.Delete(ctx, key, pre); return err })
	if err != nil {
		return 0, err
	}
	return rev, nil
}

// Watch implements storage.Store.
func (f *Faulty) Watch(ctx context.Context, req storage.WatchRequest) (c storage.Cursor, err error) {
	switch f.next("watch") {
	case None:
		return f.Store.Watch(ctx, req)
	default:
		return nil, &storage.Error{Op: "watch", Key: req.Prefix, Kind: storage.Unavailable, Err: ErrInjected}
	}
}

// Compact implements storage.Store.
func (f *Faulty) Compact(ctx context.Context, rev storage.Revision) error {
	return f.do("compact", "", false, func() error { return f.Store.Compact(ctx, rev) })
}

// Lease implements storage.Store.
func (f *Faulty) Lease(ctx context.Context, ttl time.Duration) (id storage.LeaseID, err error) {
	err = f.do("lease", "", false, func() error { id, err = f.Store.Lease(ctx, ttl); return err })
	return id, err
}

// Revision implements storage.Store.
func (f *Faulty) Revision(ctx context.Context) (rev storage.Revision, err error) {
	err = f.do("revision", "", false, func() error { rev, err = f.Store.Revision(ctx); return err })
	return rev, err
}
