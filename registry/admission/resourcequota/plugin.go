// Package resourcequota is the admission plugin ResourceQuota: it charges writes to the quotas of
// their namespace, exactly.
//
// Words. To charge a quota is to add amounts to its status.used. A batch is the charges of several
// writes in one namespace that are stored together. The fence is a record in the store whose
// revision a recount raises (server/quotas). A charge belongs to the revision of the fence that was
// known when the charge was made. A Ledger is the store of quotas and fence.
//
// Laws:
//   - A write is charged before it is stored, and is stored only while the fence has the revision
//     of its charge. So when a recount has raised the fence, each write that was charged before is
//     either stored, and the recount counts it, or it is never stored.
//   - A charge whose write is not stored is given back, unless the fence has been raised since: the
//     recount then has dropped the charge.
//   - Once every server on a store has seen a quota with its status, the quota never admits more
//     than its limit. A write that was under way when its server saw the quota is not charged; a
//     recount counts it ten seconds later. If it is in doubt whether a write was stored, its charge
//     stays until the next recount.
//   - No fence holds for a resource in a store of its own (--etcd-servers-overrides), and none for
//     any resource if quotas or Leases are in a store of their own. A recount may then miss a write
//     that is under way, or count it twice; the next recount corrects that.
//   - The charges of a namespace that wait at one moment are stored by one write for each quota, so
//     that writers who share a quota do not wait for the disk one after another.
//   - A dry run is checked and never charged.
//
// Any goroutine may call the plugin. Each namespace with waiting charges has a goroutine, its
// worker, which ends when no charge waits.
//
// Not here: what an object uses and whether a quota admits it (quota), the recount
// (server/quotas).
//
// Read: plugin.go, batch.go, books.go.
package resourcequota

import (
	"context"
	"sync"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/quota"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Name is the name of the plugin.
const Name = "ResourceQuota"

// Fence is a key in the store and its revision, 0 if the key does not exist.
type Fence struct {
	Key      string
	Revision uint64
}

// Ledger reads and writes the quotas in the store, and the fence.
type Ledger interface {
	// Quotas returns the quotas of a namespace. They are shared and must not be changed. The error
	// is a *meta.StatusError.
	Quotas(ctx context.Context, namespace string, fresh request.Freshness) ([]*corev1.ResourceQuota, error)
	// Update calls change with the current quota, and stores the result if the fence still has its
	// revision. If another writer was faster, it calls change again. If change returns an error,
	// Update returns that error and stores nothing. If the fence was raised, errors.Is(err,
	// ErrFenced) reports true, and nothing was stored.
	Update(ctx context.Context, namespace, name string, fence Fence, change func(q *corev1.ResourceQuota) error) error
	// Fence returns the fence.
	Fence(ctx context.Context, fresh request.Freshness) (Fence, error)
	// Fences reports whether the fence holds for writes of a resource. It does not for a resource
	// in a store of its own.
	Fences(resource meta.GroupResource) bool
	// Surroundings returns the facts outside an object on which its usage depends.
	Surroundings(ctx context.Context) quota.Surroundings
}

// Plugin is the plugin. It is an admission.Reserver.
type Plugin struct {
	ledger  Ledger
	limited []quota.LimitedResource

	mu     sync.Mutex
	queues map[string]*queue // by namespace; only those with a worker
}

// New returns the plugin. limited are the resources that objects may use only if a quota limits
// them.
func New(ledger Ledger, limited []quota.LimitedResource) *Plugin {
	return &Plugin{ledger: ledger, limited: limited, queues: map[string]*queue{}}
}

// Name is the plugin's name.
func (*Plugin) Name() string { return Name }

// Handles is true for creates and updates.
func (*Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Reserve charges the write to the quotas of its namespace, or refuses it.
func (p *Plugin) Reserve(ctx context.Context, a *admission.Attributes) (admission.Settle, error) {
	if !quota.Handles(a) {
		return nil, nil
	}
	quotas, err := p.ledger.Quotas(ctx, a.Namespace, request.Cached)
	if err != nil || len(quotas) == 0 && len(p.limited) == 0 {
		return nil, err
	}
	around := p.ledger.Surroundings(ctx)
	around.Now = time.Now()
	r := quota.Measure(a, around)
	charges, err := r.Check(quotas, p.limited)
	if err != nil {
		// The cache may lack a recent recount, or a charge that was just given back.
		if quotas, err = p.ledger.Quotas(ctx, a.Namespace, request.Consistent); err != nil {
			return nil, err
		}
		charges, err = r.Check(quotas, p.limited)
	}
	if err != nil || len(charges) == 0 || a.DryRun {
		return nil, err
	}
	return p.charge(ctx, a, newCharge(r, quotas, charges))
}

// charge has the worker of the namespace store the charge, and waits for it.
func (p *Plugin) charge(ctx context.Context, a *admission.Attributes, c *charge) (admission.Settle, error) {
	q := p.enqueue(ctx, a.Namespace, c)
	select {
	case <-c.done:
	case <-ctx.Done():
		if q.withdraw(c) {
			return nil, ctx.Err()
		}
		<-c.done // the worker reads the object, and is bounded by batchTime
	}
	if c.err != nil {
		return nil, c.err
	}
	settle := func(ctx context.Context, fate admission.Fate) {
		if fate == admission.NotStored {
			p.enqueue(ctx, a.Namespace, c.reverse())
		}
	}
	if !p.ledger.Fences(a.Resource.GroupResource()) {
		return settle, nil
	}
	if err := a.Fence(c.fence.Key, c.fence.Revision); err != nil {
		settle(ctx, admission.NotStored)
		return nil, err
	}
	return settle, nil
}
