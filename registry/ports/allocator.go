package ports

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/storage"
)

// Resource is the name under which node ports are encrypted and measured, Prefix where the records of ranges are, below that of
// all keys, and name the record of node ports there.
const (
	Resource = "servicenodeportallocations"
	Prefix   = "ranges/"
	name     = "servicenodeports"
)

// commitTime bounds a change of the record: the store's part of it, and what is lost to others who are faster.
const commitTime = 10 * time.Second

// Allocator hands out the ports of one range. All methods may be called at once.
//
// Changes that are asked for while another is being written are written together: ports cost one write at a time, not one each.
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
	ctx   context.Context
	apply func(s *Set) error
	err   error
	done  chan struct{}
}

// New returns the allocator of node ports. It is opened before it is used.
func New(span Span) *Allocator { return &Allocator{span: span, turn: make(chan struct{}, 1)} }

// Open says where the record is. Nothing is read yet.
func (a *Allocator) Open(records registry.Records[*corev1.RangeAllocation]) { a.records = records }

// Span is the range.
func (a *Allocator) Span() Span { return a.span }

// Change lets f take and release ports, and returns when that is stored. f may be called again, with a fresh set, if others
// were faster; if it fails, with that error, nothing of what it did is stored. With any other error it is not known whether
// what f took last is taken.
func (a *Allocator) Change(ctx context.Context, f func(s *Set) error) error {
	c := &change{ctx: ctx, apply: f, done: make(chan struct{})}
	a.mu.Lock()
	a.waiting = append(a.waiting, c)
	a.mu.Unlock()
	select {
	case <-c.done:
	case a.turn <- struct{}{}: // the present writer has ended, maybe without c
		a.commit(ctx)
		<-a.turn
	}
	return c.err
}

// Release gives ports back. It is for ports that nobody has any more, and must not be late: who finds them taken by nobody for
// long gives them to others. With an error they are left to them.
func (a *Allocator) Release(ctx context.Context, list []int) error {
	ctx, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	return a.Change(ctx, func(s *Set) error {
		for _, port := range list {
			s.Release(port)
		}
		return nil
	})
}

// commit writes all changes that wait. The caller's is among them, or done. They do not share the end of its context.
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
	for _, c := range batch {
		if err != nil { // what they failed with themselves may not hold any more
			c.err = err
		}
		close(c.done)
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

// applied makes the changes of a batch, each that fails without a trace. One whose caller is gone is none.
func applied(before *Set, batch []*change) *Set {
	set := before
	for _, c := range batch {
		if c.err = c.ctx.Err(); c.err != nil {
			continue
		}
		next := set.clone()
		if c.err = c.apply(next); c.err == nil {
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

// Load returns what is stored, and its revision; nothing is taken, at revision 0, where there is no record yet. The set may be of
// another range.
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

// Replace stores a set in the place of what Load has returned with rev, and reports false if that has changed since.
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
