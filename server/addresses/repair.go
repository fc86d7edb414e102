package addresses

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/core"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
	"github.com/coracle-project/coracle/storage"
)

// The repairs compare the allocations of addresses and node ports with the Services. The hook
// start-service-ip-repair-controllers makes the first pass of each repair. Afterwards a loop checks
// every repairInterval whether a pass is needed: something has changed, or the last pass has failed
// or has asked for another.

// repair is one repair, of IPAddresses or of node ports.
type repair struct {
	name string
	// pass compares everything once. If it returns again, the next pass runs even if nothing has
	// changed by then.
	pass func(ctx context.Context) (again bool, err error)
	// resources are the resources that pass reads. While they do not change, no further pass is
	// needed.
	resources []meta.GroupResource
	// follow repairs single objects as they change, until ctx ends; it may be nil. It calls listed,
	// perhaps several times, when it has seen all objects that exist; after that it misses no
	// change.
	follow func(ctx context.Context, listed func())

	// seen is the result of lastChanges before the last pass; nil if another pass is due.
	seen []storage.Revision
}

const (
	// repairInterval is the time between two checks whether a pass is needed.
	repairInterval = 3 * time.Minute
	// repairPause is the time between two attempts of a first pass.
	repairPause = 500 * time.Millisecond
	// leastRepairGrace is the least time for which an IPAddress may exist without its Service
	// before it is deleted.
	leastRepairGrace = time.Minute
)

// startRepairs starts the followers, makes the first pass of each repair, and starts the loop. A
// repair follows changes before its first pass. Otherwise a change between the two would stay
// unseen until the next pass. startRepairs returns when each repair has passed once.
func (a *Addresses) startRepairs(ctx context.Context) error {
	for _, r := range a.repairs {
		a.startFollowing(ctx, r)
		for !a.repair(ctx, r) && ctx.Err() == nil {
			_ = storage.Sleep(ctx, repairPause)
		}
	}
	a.needs.Loops.Run(func(ctx context.Context) {
		for storage.Sleep(ctx, repairInterval) == nil {
			for _, r := range a.repairs {
				a.repair(ctx, r)
			}
		}
	})
	return nil
}

// startFollowing returns when the repair follows changes, or ctx has ended.
func (a *Addresses) startFollowing(ctx context.Context, r *repair) {
	if r.follow == nil {
		return
	}
	following := make(chan struct{})
	listed := sync.OnceFunc(func() { close(following) })
	a.needs.Loops.Run(func(ctx context.Context) {
		defer listed() // also if there is nothing to follow
		r.follow(ctx, listed)
	})
	select {
	case <-following:
	case <-ctx.Done():
	}
}

// repair makes a pass if one is needed. It returns false if the pass failed.
func (a *Addresses) repair(ctx context.Context, r *repair) bool {
	now := a.lastChanges(r.resources)
	if r.seen != nil && slices.Equal(r.seen, now) {
		return true
	}
	again, err := r.pass(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.needs.Resources.Log().Warn("cannot repair the allocation of addresses or node ports yet",
				zap.String("repair", r.name), zap.Error(err))
		}
		return false
	}
	if r.seen = now; again {
		r.seen = nil
	}
	return true
}

// lastChanges returns the revision of the newest change of each resource; 0 for a resource that has
// not been loaded yet.
func (a *Addresses) lastChanges(of []meta.GroupResource) []storage.Revision {
	list := make([]storage.Revision, len(of))
	for i, gr := range of {
		if store := a.needs.Resources.Store(gr); store != nil {
			list[i] = store.Objects().Stats().Last
		}
	}
	return list
}

// newAddressRepair returns the repair of IPAddresses. Its work is in registry/core; this package
// decides when it runs.
func newAddressRepair(needs *Needs, ranges []netip.Prefix) *repair {
	const name = "ipallocator-repair-controller"
	log := needs.loopLog(name)
	events := controller.NewRecorder(needs.Client, name, log)
	about := core.Config{ServiceRanges: ranges, Stores: needs.Resources}
	grace := max(needs.RequestTimeout, leastRepairGrace)
	r := core.NewAddressRepair(about, grace, func(ctx context.Context, e core.RepairEvent) {
		log.Warn("an IPAddress needs repair", zap.String("reason", e.Reason), zap.String("finding", e.Message))
		events.Act(ctx, e.About, corev1.EventTypeWarning, e.Reason, e.Action, e.Message)
	})
	stores := needs.Resources.Stores
	return &repair{
		name: name, pass: r.RepairAll, resources: []meta.GroupResource{services, ipAddresses, serviceCIDRs},
		follow: func(ctx context.Context, listed func()) {
			failed := func(err error) { log.Warn("watch failed", zap.Error(err)) }
			if store := stores.Store(ipAddresses); store != nil {
				followAddresses(ctx, store, r, listed, failed)
			}
		},
	}
}

// followAddresses calls the repair for IPAddresses that change or are deleted. It ignores new ones,
// because their Services are about to be written. It calls listed after each batch that brings it
// up to date.
func followAddresses(
	ctx context.Context, store *registry.Store, r *core.AddressRepair, listed func(), failed func(error),
) {
	for b := range follow.Changes(ctx, store.Source(), follow.Options{Old: true, Failed: failed}) {
		for i := range b.Changes {
			if err := changed(ctx, store, r, &b.Changes[i]); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
		if b.InStep {
			listed()
		}
	}
}

// changed calls the repair with the last state of an IPAddress, unless the object is new or
// unreadable, or the change is a repetition.
func changed(ctx context.Context, store *registry.Store, r *core.AddressRepair,
	ch *follow.Change[request.Encoded]) error {
	last := ch.New
	if ch.Gone {
		last = ch.Old
	}
	if ch.Unread != nil || ch.Old == nil || last == nil || !ch.Gone && last.Revision() == ch.Old.Revision() {
		return nil
	}
	obj, err := store.Decode(ctx, last)
	if meta.IsUnreadable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.RepairServiceOf(ctx, obj.(*networkingv1.IPAddress))
}
