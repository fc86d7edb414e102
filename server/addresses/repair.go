package addresses

import (
	"context"
	"net/netip"
	"slices"
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

// What is counted outside of services, addresses and node ports, is held against the services here.
// A post-start hook makes the first pass of each repair; afterwards a loop makes one whenever
// something has changed.

// repair compares what is counted outside of services with the services, and puts it right.
type repair struct {
	name string
	// pass looks at everything, and reports whether there is something that it could not judge yet.
	pass func(ctx context.Context) (again bool, err error)
	// of are the resources that it looks at: while they stay as they are, no other pass is needed.
	of []meta.GroupResource
	// follow repairs what changes, until ctx ends; it may be nil.
	follow func(ctx context.Context)

	// seen are the newest changes of the resources before the last pass; nil if another pass is
	// due.
	seen []storage.Revision
}

const (
	// repairInterval is how often the repairs look whether they are needed.
	repairInterval = 3 * time.Minute
	// repairPause is between two tries of a first pass.
	repairPause = 500 * time.Millisecond
	// leastRepairGrace is how long an address may be without its service at least.
	leastRepairGrace = time.Minute
)

// startRepairs returns when each repair has passed once, and goes on in the background.
func (a *Addresses) startRepairs(ctx context.Context) error {
	for _, r := range a.repairs {
		for !a.repair(ctx, r) && ctx.Err() == nil {
			_ = storage.Sleep(ctx, repairPause)
		}
		if r.follow != nil {
			a.needs.Loops.Run(r.follow)
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

// repair makes a pass if there is something new. It reports false if the pass failed.
func (a *Addresses) repair(ctx context.Context, r *repair) bool {
	now := a.lastChanges(r.of)
	if r.seen != nil && slices.Equal(r.seen, now) {
		return true
	}
	again, err := r.pass(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.needs.Resources.Log().Warn("cannot repair yet", zap.String("repair", r.name), zap.Error(err))
		}
		return false
	}
	if r.seen = now; again {
		r.seen = nil
	}
	return true
}

// lastChanges are the revisions of the newest changes of some resources: 0 for a resource that
// nobody has asked for yet.
func (a *Addresses) lastChanges(of []meta.GroupResource) []storage.Revision {
	list := make([]storage.Revision, len(of))
	for i, gr := range of {
		if store := a.needs.Resources.Store(gr); store != nil {
			list[i] = store.Objects().Stats().Last
		}
	}
	return list
}

// newAddressRepair returns the repair of IPAddresses.
func newAddressRepair(needs *Needs, ranges []netip.Prefix) *repair {
	const name = "ipallocator-repair-controller"
	log := needs.loopLog(name)
	events := controller.NewRecorder(needs.Client, name, log)
	about := core.Config{ServiceRanges: ranges, Stores: needs.Resources}
	grace := max(needs.RequestTimeout, leastRepairGrace)
	r := core.NewAddressRepair(about, grace, func(ctx context.Context, e core.RepairEvent) {
		log.Warn(e.Message, zap.String("reason", e.Reason))
		events.Act(ctx, e.About, corev1.EventTypeWarning, e.Reason, e.Action, e.Message)
	})
	stores := needs.Resources.Stores
	return &repair{
		name: name, pass: r.Pass, of: []meta.GroupResource{services, ipAddresses, serviceCIDRs},
		follow: func(ctx context.Context) {
			failed := func(err error) { log.Warn("watch failed", zap.Error(err)) }
			if store := stores.Store(ipAddresses); store != nil {
				followAddresses(ctx, store, r, failed)
			}
		},
	}
}

// followAddresses tells the repair of IPAddresses that change or go. It ignores new ones: their
// services are about to come.
func followAddresses(ctx context.Context, store *registry.Store, r *core.AddressRepair, failed func(error)) {
	for b := range follow.Changes(ctx, store.Source(), follow.Options{Old: true, Failed: failed}) {
		for i := range b.Changes {
			if err := changed(ctx, store, r, &b.Changes[i]); err != nil && ctx.Err() == nil {
				failed(err)
			}
		}
	}
}

// changed tells the repair of the last state of an IPAddress, unless it is new, cannot be read, or
// has been told of before.
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
	return r.Changed(ctx, obj.(*networkingv1.IPAddress))
}
