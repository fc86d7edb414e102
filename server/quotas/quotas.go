// Package quotas is the controller resourcequota-controller: it recounts the used amounts in the
// status of ResourceQuotas.
//
// Words. The fence is a Lease whose revision a recount raises. A charge is the amount that the
// admission plugin ResourceQuota adds to the used amounts of a quota before an object is stored. A
// namespace is due if its quotas have to be recounted.
//
// Laws:
//   - A recount raises the fence, which gives the revision R, and counts the objects as they are at
//     exactly R. A write that was charged before R and is not stored at R is never stored
//     (registry/admission/resourcequota). So the used amounts are the counted amounts and the
//     charges since R. The charges since R are the difference between the used amounts now and at
//     R.
//   - The result is stored only while the fence has the revision R. If two servers recount at once,
//     the later fence wins, and the other server begins again.
//   - A namespace is due when its quotas change, when an object there is deleted or may use less
//     than before, when resources come or go, when changes before a feed may have been missed, and
//     every five minutes. It is due ten seconds after another update of a pod, because the write of
//     a status is not charged, and most such writes change no usage. It is also due ten seconds
//     after a quota got new limits, because writes that were under way were not charged for them.
//   - All namespaces that are due at one moment share one fence. Between two fences there is a
//     pause, so that writers whose fence was raised succeed at their next try.
//   - A resource in a store of its own has no fence. Its objects are counted as they are at that
//     moment.
//   - The controller keeps no objects. If only the number of a resource's objects counts, it keeps
//     nothing. Of an object that must be decoded, it keeps the name, the revision and a pointer to
//     the usage. Objects with the same usage share it.
//
// Package server runs the controller on one of the servers that share a store, while no
// kube-controller-manager runs. One goroutine counts.
//
// Not here: what an object uses (registry/admission/quota), and the charges of writes
// (registry/admission/resourcequota).
//
// Read: quotas.go, count.go.
package quotas

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission/resourcequota"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server/controller"
)

const (
	resync     = 5 * time.Minute        // between two recounts of all namespaces
	laterPause = 10 * time.Second       // from an update of a pod, or new limits, to a recount
	fencePause = 200 * time.Millisecond // between two fences
	retryPause = time.Second            // after a recount that failed
)

// Changes is a feed of namespaces in which the usage of objects may have changed by writes that
// quotas are not charged with. A Holdings opens one.
type Changes interface {
	// Next waits for changes and returns their namespaces: less are those where objects may use
	// less than before, changed are those where a pod was updated, which seldom changes what it
	// uses. An error says that some changes were missed, or that ctx has ended; no call may follow.
	Next(ctx context.Context) (less, changed []string, err error)
	// Close ends the feed.
	Close()
}

// Controller recounts quotas.
type Controller struct {
	// Informers are the informers of the run.
	Informers *controller.Informers
	// Stores has the resources whose objects are counted.
	Stores registry.Stores
	// Identity is this server's name in the fence.
	Identity string
	// Changes opens a feed.
	Changes func(ctx context.Context) (Changes, error)
	// ResourcesChanged returns a channel that is closed when resources come or go after the call.
	ResourcesChanged func() <-chan struct{}
	// Log gets a line for each failure and, at level debug, for each recount. The latter says how
	// many objects, and how many different usages of objects, the controller remembers.
	Log *zap.Logger

	books *resourcequota.Books
	usage memo
	due   due
}

// quotaView is the part of a quota that the Informer keeps: whether the limits in the status differ
// from those in the spec. If they differ, the namespace is due.
type quotaView struct {
	Behind bool
}

func newQuotaView(q *corev1.ResourceQuota) *quotaView {
	behind := len(q.Spec.Hard) != len(q.Status.Hard)
	for name, limit := range q.Spec.Hard {
		have, ok := q.Status.Hard[name]
		behind = behind || !ok || have.Cmp(limit) != 0
	}
	return &quotaView{Behind: behind}
}

var quotaResource = corev1.GroupVersion.WithResource("resourcequotas")

// Run recounts until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.due.wake, c.due.later = make(chan struct{}, 1), make(chan struct{}, 1)
	quotas := controller.InformerOf(c.Informers, quotaResource, newQuotaView)
	if quotas.Synced(ctx) != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		behind := quotas.Source(func(name controller.Name, _, now *quotaView) []controller.Name {
			if now == nil || now.Behind { // after a deletion, the recount may forget the namespace
				c.due.add(name.Namespace)
			}
			return nil
		})
		controller.Loop{Source: behind, Workers: 1, Log: c.Log,
			Reconcile: func(context.Context, controller.Name) (time.Duration, error) { return 0, nil }}.Run(ctx)
	})
	all := func() {
		quotas.All(func(name controller.Name, _ *quotaView) { c.due.add(name.Namespace) })
	}
	wg.Go(func() { c.follow(ctx, quotas, all) })
	c.count(ctx, all)
}

// count recounts the namespaces that are due until ctx ends, with one fence for all that are due at
// a time. all makes every namespace with quotas due.
func (c *Controller) count(ctx context.Context, all func()) {
	tick := time.NewTicker(resync)
	defer tick.Stop()
	var later <-chan time.Time // nil while no namespace waits
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due.later:
			if later == nil {
				later = time.After(laterPause)
			}
			continue
		case <-later:
			later = nil
			c.due.addWaiting()
		case <-tick.C:
			all()
		case <-c.ResourcesChanged():
			all()
		case <-c.due.wake:
		}
		pause := fencePause
		namespaces := c.due.take()
		if err := c.Recount(ctx, namespaces...); err != nil && ctx.Err() == nil {
			c.Log.Warn("quotas were not recounted", zap.Int("namespaces", len(namespaces)), zap.Error(err))
			c.due.add(namespaces...)
			pause = retryPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// follow makes namespaces with quotas due when one of their objects may use less. When a feed has
// begun, all makes all namespaces due, because nobody saw the changes before it.
func (c *Controller) follow(ctx context.Context, quotas *controller.Informer[quotaView], all func()) {
	for ctx.Err() == nil {
		feed, err := c.Changes(ctx)
		if err == nil {
			all()
		}
		for err == nil {
			var less, changed []string
			less, changed, err = feed.Next(ctx)
			for _, namespace := range less {
				quotas.Each(namespace, func(controller.Name, *quotaView) { c.due.add(namespace) })
			}
			for _, namespace := range changed {
				quotas.Each(namespace, func(controller.Name, *quotaView) { c.due.addLater(namespace) })
			}
		}
		if feed != nil {
			feed.Close()
		}
		if ctx.Err() != nil {
			return
		}
		c.Log.Warn("the feed of changes was interrupted", zap.Error(err))
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// due is the set of namespaces that are due, and of those that will be due after laterPause.
type due struct {
	wake    chan struct{} // has a token if set is not empty
	later   chan struct{} // has a token if waiting has become non-empty
	mu      sync.Mutex
	set     map[string]bool
	waiting map[string]bool
}

// add makes namespaces due.
func (d *due) add(namespaces ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(slices.Values(namespaces))
}

func (d *due) addLocked(namespaces iter.Seq[string]) {
	for namespace := range namespaces {
		if d.set == nil {
			d.set = map[string]bool{}
		}
		d.set[namespace] = true
	}
	if len(d.set) > 0 {
		notify(d.wake)
	}
}

// addLater makes a namespace wait for laterPause before it is due.
func (d *due) addLater(namespace string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string]bool{}
	}
	if d.waiting[namespace] = true; len(d.waiting) == 1 {
		notify(d.later)
	}
}

// addWaiting makes the waiting namespaces due.
func (d *due) addWaiting() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addLocked(maps.Keys(d.waiting))
	d.waiting = nil
}

// take empties the set and returns its namespaces, sorted. They wait no longer.
func (d *due) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := slices.Sorted(maps.Keys(d.set))
	for _, namespace := range list {
		delete(d.waiting, namespace)
	}
	d.set = nil
	return list
}

// notify leaves a token in a channel that has room for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
