package ports

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/storage"
)

// This file has the Allocator, which reads and changes the record. registry/core calls Change and
// Release when services are written, and Load for a dry run. server/addresses calls Open at the
// start of the server, and Load, Replace and Change when it repairs the record.

// Resource is the resource name of the record, for encryption and metrics. Prefix is the part of
// its key below the prefix of the store, and name the rest.
const (
	Resource = "servicenodeportallocations"
	Prefix   = "ranges/"
	name     = "servicenodeports"
)

// commitTime bounds one change of the record, including the tries that fail because another server
// was faster.
const commitTime = 10 * time.Second

// Allocator allocates the ports of one range. All methods but Open may be called concurrently.
//
// Changes that are requested while another one is written are written together, in one batch. So
// the number of writes does not grow with the number of callers.
type Allocator struct {
	span    Span
	records registry.Records[*corev1.RangeAllocation] // set by Open

	turn    chan struct{} // holds a value while a goroutine runs commit
	mu      sync.Mutex
	waiting []*change
	// last is the record as it was last read or written here, which the next write starts from;
	// nil: it must be read. Owned by the goroutine that holds turn.
	last *state
}

// state is the record at a revision.
type state struct {
	set *Set
	rev storage.Revision // 0: there is no record
}

// change is the change that one caller wants. err is set before done is closed.
type change struct {
	ctx  context.Context
	err  error
	done chan struct{}

	mu            sync.Mutex
	apply         func(s *Set) error // nil when the caller has left
	before, after *Set               // the sets around the last call of apply
}

// on applies the change to s, which is a copy of before. If the caller has left or its context has
// ended, on returns an error instead.
func (c *change) on(before, s *Set) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ctx.Err(); err != nil || c.apply == nil {
		return cmp.Or(err, context.Canceled)
	}
	c.before, c.after = before, s
	return c.apply(s)
}

// leave is called by a caller whose context has ended. It returns false if the change is done
// already; else apply is not called after leave returns.
func (c *change) leave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return false
	default:
		c.apply = nil
		return true
	}
}

// end ends the change with the error of its batch. It returns the ports that the change took if its
// caller has left: they must be released.
func (c *change) end(err error) (lost []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil { // an own error of the change came from a set that was not stored, so err replaces it
		c.err = err
	}
	close(c.done)
	if c.apply != nil || c.err != nil {
		return nil
	}
	for port := range c.after.All() {
		if !c.before.Has(port) {
			lost = append(lost, port)
		}
	}
	return lost
}

// New returns the allocator of the node ports in span. Open must be called before any other method
// but Span.
func New(span Span) *Allocator { return &Allocator{span: span, turn: make(chan struct{}, 1)} }

// Open sets where the record is stored. It reads nothing.
func (a *Allocator) Open(records registry.Records[*corev1.RangeAllocation]) { a.records = records }

// Span returns the range.
func (a *Allocator) Span() Span { return a.span }

// Change calls f, which takes and releases ports in a set, and returns when the result is stored. f
// may be called again with a newer set if another server was faster. If f fails, Change returns its
// error and stores nothing of it. With any other error it is not known whether the ports that f
// took last are taken. If ctx ends, Change returns its error at once: f is not called after that,
// and the ports that it took are released. The changes of other callers go on.
func (a *Allocator) Change(ctx context.Context, f func(s *Set) error) error {
	c := &change{ctx: ctx, apply: f, done: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, c)
	a.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
	case a.turn <- struct{}{}: // the last writer has ended, maybe without c
		go func() { // it writes the changes of all callers; it ends within commitTime
			a.commit(ctx)
			<-a.turn
		}()
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		if c.leave() {
			return ctx.Err()
		}
		return c.err
	}
}

// Release releases ports that no service has. It must be called soon after the service has lost
// them: the repair also frees unused ports, and a late Release could free a port that another
// service has taken since. If Release fails, the ports are left to the repair.
func (a *Allocator) Release(ctx context.Context, list []int) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	return a.Change(ctx, releasing(list))
}

// commit writes all changes that wait in one batch. It does not end with ctx, because the batch has
// changes of other callers.
func (a *Allocator) commit(ctx context.Context) {
	a.mu.Lock()
	batch := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	err := a.write(ctx, batch)
	var lost []int
	for _, c := range batch {
		lost = append(lost, c.end(err)...)
	}
	if len(lost) > 0 { // if this fails, the repair frees them
		_ = a.write(ctx, []*change{{ctx: ctx, apply: releasing(lost)}})
	}
}

// releasing returns a change that releases ports.
func releasing(list []int) func(s *Set) error {
	return func(s *Set) error {
		for _, port := range list {
			s.Release(port)
		}
		return nil
	}
}

// write applies a batch to the record and stores it, again if another server was faster. If it
// returns nil, each change has its own err.
func (a *Allocator) write(ctx context.Context, batch []*change) error {
	for {
		guess := a.last != nil
		if !guess {
			var err error
			if a.last, err = a.load(ctx); err != nil {
				return err
			}
		}
		before := a.last
		switch {
		case before.rev == 0:
			a.last = nil
			return errUninitialized
		case before.set.span != a.span:
			a.last = nil
			return errMismatch
		}
		after := applied(before.set, batch)
		if after.equal(before.set) {
			if guess { // a port that was refused may be free in the current record
				a.last = nil
				continue
			}
			return nil
		}
		rev, err := a.put(ctx, after, storage.Pre{Rev: before.rev})
		if err == nil {
			a.last = &state{after, rev}
			return nil
		}
		a.last = nil
		if !overtaken(err) {
			return err
		}
	}
}

// applied returns the set after the changes of a batch. A change that fails, or whose caller has
// left, changes nothing.
func applied(before *Set, batch []*change) *Set {
	set := before
	for _, c := range batch {
		next := set.clone()
		if c.err = c.on(set, next); c.err == nil {
			set = next
		}
	}
	return set
}

// overtaken reports whether a write failed because another server was faster.
func overtaken(err error) bool {
	switch storage.KindOf(err) {
	case storage.Conflict, storage.NotFound, storage.Exists:
		return true
	}
	return false
}

// Load returns the stored set and its revision. If there is no record yet, the set is empty and the
// revision 0. The set may be of another range, if the configuration has changed.
func (a *Allocator) Load(ctx context.Context) (*Set, storage.Revision, error) {
	s, err := a.load(ctx)
	if err != nil {
		return nil, 0, err
	}
	return s.set, s.rev, nil
}

// load reads the record. No record, or a record without a range, counts as an empty set.
func (a *Allocator) load(ctx context.Context) (*state, error) {
	record, rev, err := a.records.Get(ctx, name)
	if errors.Is(err, storage.NotFound) || err == nil && record.Range == "" {
		return &state{NewSet(a.span), rev}, nil
	}
	if err != nil {
		return nil, err
	}
	span, err := ParseSpan(record.Range)
	if err != nil {
		return nil, err
	}
	return &state{newSet(span, record.Data), rev}, nil
}

// Replace stores a set if the record still has the revision rev that Load returned, else it returns
// false.
func (a *Allocator) Replace(ctx context.Context, s *Set, rev storage.Revision) (bool, error) {
	_, err := a.put(ctx, s, storage.Pre{Rev: rev, Absent: rev == 0})
	if overtaken(err) {
		return false, nil
	}
	return err == nil, err
}

func (a *Allocator) put(ctx context.Context, s *Set, pre storage.Pre) (storage.Revision, error) {
	return a.records.Put(ctx, name, &corev1.RangeAllocation{Range: s.span.String(), Data: s.data()}, pre, 0)
}
