package resourcequota

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file stores charges in batches: a queue for each namespace, and its worker. Plugin.charge
// enqueues the charge of a write and waits for it. When a write is not stored, its Settle enqueues
// the reverse of the charge and does not wait.

const (
	batchTime  = 30 * time.Second // bounds the work on one batch
	batchSize  = 500              // the largest number of charges in a batch
	fenceTries = 8                // how often a batch is tried while the fence is raised again and again
)

// ErrFenced says that the fence no longer has the revision of a charge.
var ErrFenced = errors.New("the fence of quotas was raised")

// errNothing ends an update that would change nothing.
var errNothing = errors.New("nothing is to be charged")

// charge is what one write adds to quotas, or gives back to them.
type charge struct {
	request *quota.Request // nil for a charge that gives back
	quotas  []string       // the names of the quotas, sorted
	// amounts has, by quota, what was charged or is to be given back.
	amounts map[string]quota.Amounts
	fence   Fence         // the charge belongs to its revision
	err     error         // the refusal, or the failure
	done    chan struct{} // closed when amounts, fence and err are final
}

// newCharge returns the charge of a write to the quotas that charges names.
func newCharge(r *quota.Request, quotas []*corev1.ResourceQuota, charges []quota.Charge) *charge {
	c := &charge{request: r, done: make(chan struct{})}
	for _, x := range charges {
		c.quotas = append(c.quotas, quotas[x.Quota].Name)
	}
	slices.Sort(c.quotas)
	return c
}

// reverse returns the charge that gives back what c has added.
func (c *charge) reverse() *charge {
	return &charge{
		quotas: slices.Sorted(maps.Keys(c.amounts)), amounts: maps.Clone(c.amounts), fence: c.fence,
		done: make(chan struct{}),
	}
}

// queue has the charges of a namespace that wait for its worker. Plugin.mu guards it.
type queue struct {
	p       *Plugin
	waiting []*charge
}

// enqueue adds a charge to the queue of a namespace, and starts the worker if there is none.
func (p *Plugin) enqueue(ctx context.Context, namespace string, c *charge) *queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[namespace]
	if q == nil {
		q = &queue{p: p}
		p.queues[namespace] = q
		go p.work(context.WithoutCancel(ctx), namespace, q)
	}
	q.waiting = append(q.waiting, c)
	return q
}

// withdraw removes a charge from the queue. It reports false if the worker has already taken the
// charge.
func (q *queue) withdraw(c *charge) bool {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	i := slices.Index(q.waiting, c)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// take returns the next batch. If no charge waits, take removes the queue and returns an empty
// batch, and the worker ends.
func (q *queue) take(namespace string) []*charge {
	q.p.mu.Lock()
	defer q.p.mu.Unlock()
	batch := q.waiting
	if len(batch) > batchSize {
		batch = batch[:batchSize]
	}
	if q.waiting = q.waiting[len(batch):]; len(batch) == 0 {
		delete(q.p.queues, namespace)
	}
	return batch
}

// work stores the charges of a namespace until none waits.
func (p *Plugin) work(ctx context.Context, namespace string, q *queue) {
	for batch := q.take(namespace); len(batch) > 0; batch = q.take(namespace) {
		p.store(ctx, namespace, batch)
		for _, c := range batch {
			close(c.done)
		}
	}
}

// store charges a batch to its quotas, and sets the result of each charge. If the fence is raised
// meanwhile, the charges of the batch are void, and store begins again.
func (p *Plugin) store(ctx context.Context, namespace string, batch []*charge) {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	fresh := request.Cached
	for range fenceTries {
		fence, err := p.ledger.Fence(ctx, fresh)
		if err == nil {
			err = p.storeBehind(ctx, namespace, fence, batch)
		}
		if err == nil {
			return
		}
		for _, c := range batch {
			c.err = err
		}
		if !errors.Is(err, ErrFenced) {
			return
		}
		fresh = request.Consistent
	}
	err := meta.NewServerTimeout(meta.GroupResource{Resource: "resourcequotas"}, "update", 1)
	for _, c := range batch {
		c.err = err
	}
}

// storeBehind charges a batch to one quota after another while the fence has its revision. A charge
// that a quota refuses is taken back from the quotas before it. An error other than ErrFenced
// concerns one quota: the charges that need it fail.
func (p *Plugin) storeBehind(ctx context.Context, namespace string, fence Fence, batch []*charge) error {
	names := map[string]bool{}
	for _, c := range batch {
		if c.err = nil; c.request != nil {
			c.fence, c.amounts = fence, map[string]quota.Amounts{}
		}
		for _, name := range c.quotas {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t := tally{name: name, fence: fence, batch: batch}
		err := p.ledger.Update(ctx, namespace, name, fence, t.change)
		switch {
		case errors.Is(err, ErrFenced):
			return err
		case meta.IsNotFound(err): // the quota is gone and limits nothing
		case err == nil, err == errNothing:
			t.keep()
		default:
			t.fail(err)
		}
	}
	for _, c := range batch {
		if c.request != nil && c.err != nil && len(c.amounts) > 0 {
			p.enqueue(ctx, namespace, c.reverse())
		}
	}
	return nil
}

// tally charges a batch to one quota. change may be called several times; the last call counts.
type tally struct {
	name    string
	fence   Fence
	batch   []*charge
	results []result
}

// result is what a quota did with a charge.
type result struct {
	of      *charge
	amounts quota.Amounts
	err     error
}

// change adds to the quota those charges of the batch that it admits, in the order of their
// arrival, and subtracts the charges that are given back.
func (t *tally) change(q *corev1.ResourceQuota) error {
	t.results = t.results[:0]
	if q.Status.Used == nil {
		q.Status.Used = corev1.ResourceList{}
	}
	changed := false
	for _, c := range t.batch {
		switch {
		case c.err != nil || !slices.Contains(c.quotas, t.name):
		case c.request == nil:
			// A recount has dropped the charges of any other revision of the fence.
			if c.fence == t.fence {
				c.amounts[t.name].TakeFrom(q.Status.Used)
				changed = true
			}
		default:
			charges, err := c.request.Check([]*corev1.ResourceQuota{q}, nil)
			r := result{of: c, err: err}
			if len(charges) > 0 {
				r.amounts = charges[0].Amounts
				r.amounts.AddTo(q.Status.Used)
				changed = true
			}
			t.results = append(t.results, r)
		}
	}
	if !changed {
		return errNothing
	}
	return nil
}

// keep records the result of each charge once the quota is stored.
func (t *tally) keep() {
	for _, r := range t.results {
		if r.of.err = r.err; len(r.amounts) > 0 {
			r.of.amounts[t.name] = r.amounts
		}
	}
}

// fail fails the charges that need the quota.
func (t *tally) fail(err error) {
	for _, c := range t.batch {
		if c.err == nil && c.request != nil && slices.Contains(c.quotas, t.name) {
			c.err = err
		}
	}
}
