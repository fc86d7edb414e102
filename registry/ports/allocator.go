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

// Resource is the name under which node ports are encrypted and measured, Prefix where the records
// of ranges are, below that of all keys, and name the record of node ports there.
const (
	Resource = "servicenodeportallocations"
	Prefix   = "ranges/"
	name     = "servicenodeports"
)

// commitTime bounds a change of the record: the store's part of it, and what is lost to others who
// are faster.
const commitTime = 10 * time.Second

// Allocator hands out the ports of one range. All methods may be called at once.
//
// Changes that are asked for while another is being written are written together: ports cost one
// write at a time, not one each.
type Allocator struct {
	span    Span
	records registry.Records[*corev1.RangeAllocation] // set by Open

	turn    chan struct{} // of the one who writes
	mu      sync.Mutex
	waiting []*change
	last    *state // the first guess; nil: none. Changed by the one whose turn it is.
}

// state is the record as it was at a revision.
type state struct {
	set *Set
	rev storage.Revision // 0: there is none
}

// change is what one caller wants. done is closed when err is what came of it.
type change struct {
	ctx  context.Context
	err  error
	done chan struct{}

	mu            sync.Mutex
	apply         func(s *Set) error // nil when the caller has left
	before, after *Set               // of the last call of apply
}

// on makes the change to a set, unless the caller is gone.
func (c *change) on(before, s *Set) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ctx.Err(); err != nil || c.apply == nil {
		return cmp.Or(err, context.Canceled)
	}
	c.before, c.after = before, s
	return c.apply(s)
}

// leave has apply not be called any more. It reports false if the change is done.
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

// end ends the change, and returns the ports that it has taken for a caller who has left.
func (c *change) end(err error) (lost []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil { // what it failed with itself may not hold any more
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

// New returns the allocator of node ports. It is opened before it is used.
func New(span Span) *Allocator { return &Allocator{span: span, turn: make(chan struct{}, 1)} }

// Open says where the record is. Nothing is read yet.
func (a *Allocator) Open(records registry.Records[*corev1.RangeAllocation]) { a.records = records }

// Span is the range.
func (a *Allocator) Span() Span { return a.span }

// Change lets f take and release ports, and returns when that is stored. f may be called again,
// with a fresh set, if others were faster; if it fails, with that error, nothing of what it did is
// stored. With any other error it is not known whether what f took last is taken. If ctx ends,
// Change returns its error at once: f is not called any more, what it took is given back, and
// others' changes go on.
func (a *Allocator) Change(ctx context.Context, f func(s *Set) error) error {
	c := &change{ctx: ctx, apply: f, done: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, c)
	a.mu.Unlock()
	select {
	case <-c.done:
	case <-ctx.Done():
	case a.turn <- struct{}{}: // the present writer has ended, maybe without c
		go func() { // it is for all who wait, and ends by commitTime
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

// Release gives ports back. It is for ports that nobody has any more, and must not be late: who
// finds them taken by nobody for long gives them to others. With an error they are left to them.
func (a *Allocator) Release(ctx context.Context, list []int) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	return a.Change(ctx, releasing(list))
}

// commit writes all changes that wait. The caller's is among them, or done. They do not share the
// end of its context.
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
	if len(lost) > 0 { // if it fails, the repair finds them
		_ = a.write(ctx, []*change{{ctx: ctx, apply: releasing(lost)}})
	}
}

// releasing is the change that gives ports back.
func releasing(list []int) func(s *Set) error {
	return func(s *Set) error {
		for _, port := range list {
			s.Release(port)
		}
		return nil
	}
}

// write stores what a batch makes of the record. If it returns no error, each change has its own.
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
			if guess { // what was refused may be free by now
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

// applied makes the changes of a batch, each that fails without a trace. One whose caller is gone
// is none.
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

// overtaken reports whether a write failed because somebody else was faster.
func overtaken(err error) bool {
	switch storage.KindOf(err) {
	case storage.Conflict, storage.NotFound, storage.Exists:
		return true
	}
	return false
}

// Load returns what is stored, and its revision; nothing is taken, at revision 0, where there is no
// record yet. The set may be of another range.
func (a *Allocator) Load(ctx context.Context) (*Set, storage.Revision, error) {
	s, err := a.load(ctx)
	if err != nil {
		return nil, 0, err
	}
	return s.set, s.rev, nil
}

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

// Replace stores a set in the place of what Load has returned with rev, and reports false if that
// has changed since.
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
