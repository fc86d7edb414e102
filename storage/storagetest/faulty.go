package storagetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/storage"
)

// faulty.go has Faulty. A test of a retry or of a cleanup lets operation 0, 1, 2 and so on fail,
// one in each run, until a run does fewer operations than that: so each point of failure is tried.

// Fault is what goes wrong in one operation of a Faulty.
type Fault uint8

// The faults. A caller sees no difference between Lose and Pretend of a write, which is their
// point: a retry must be right in both cases.
const (
	None Fault = iota // the operation is done

	Refuse  // nothing is done; the error is Unavailable
	Lose    // nothing is done; the error of a write is InDoubt, of other operations Unavailable
	Pretend // a write is done and returns InDoubt, or its own error; other operations return Unavailable
)

// ErrInjected is the cause of every error that Faulty makes.
var ErrInjected = errors.New("injected fault")

// Faulty wraps a store and lets operations fail by a plan. The cursors of Watch are those of the
// store and do not fail; opening one can. All methods may be called at once.
type Faulty struct {
	storage.Store
	mu struct {
		sync.Mutex
		n    int                          // operations since the plan was set
		plan func(n int, op string) Fault // called with mu held; nil: no faults
	}
}

// NewFaulty returns a wrapper of s that lets nothing fail until Plan or FailAt is called.
func NewFaulty(s storage.Store) *Faulty { return &Faulty{Store: s} }

// Unwrap implements storage.Wrapper.
func (f *Faulty) Unwrap() storage.Store { return f.Store }

// Plan sets the function that decides on each operation. n counts the operations since the call of
// Plan from 0, and op is the name of the method in lower case. A nil function ends the faults. plan
// must not call methods of f.
func (f *Faulty) Plan(plan func(n int, op string) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.n, f.mu.plan = 0, plan
}

// FailAt lets one operation fail: number i, counted from 0 from this call on.
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

// do counts an operation and runs call as its fault says. It returns the error of the fault, or
// that of call. write says that the operation changes entries, so that its outcome can be in doubt.
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
	if err != nil { // after Pretend, e is the stored entry, which the caller must not get
		return storage.Entry{}, err
	}
	return e, nil
}

// Delete implements storage.Store.
func (f *Faulty) Delete(ctx context.Context, key string, pre storage.Pre) (rev storage.Revision, err error) {
	err = f.do("delete", key, true, func() error { rev, err = f.Store.Delete(ctx, key, pre); return err })
	if err != nil { // after Pretend, rev is the revision of the deletion
		return 0, err
	}
	return rev, nil
}

// Watch implements storage.Store. With any fault, no cursor is opened: a cursor that the caller
// never gets would leak.
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
