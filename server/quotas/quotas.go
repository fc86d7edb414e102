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
//     than before, when resources come or go, and every five minutes. All namespaces that are due
//     at one moment share one fence. Between two fences there is a pause, so that writers whose
//     fence was raised succeed at their next try.
//   - The controller keeps no objects. It keeps the usage and the revision of each counted object,
//     so it decodes only objects that have changed.
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
	fencePause = 200 * time.Millisecond // between two fences
	retryPause = time.Second            // after a recount that failed
)

// Changes is a feed of namespaces in which objects may use less than before. A Holdings opens one.
type Changes interface {
	// Next waits for changes and returns their namespaces. An error says that some changes were
	// missed, or that ctx has ended; no call may follow.
	Next(ctx context.Context) (namespaces []string, err error)
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
	// Log gets a line for each failure.
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
	c.books, c.usage = resourcequota.NewBooks(c.Stores), memo{}
	c.due.wake = make(chan struct{}, 1)
	quotas := controller.InformerOf(c.Informers, quotaResource, newQuotaView)
	if quotas.Synced(ctx) != nil {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		behind := quotas.Source(func(name controller.Name, _, now *quotaView) []controller.Name {
			if now != nil && now.Behind {
				c.due.add(name.Namespace)
			}
			return nil
		})
		controller.Loop{Source: behind, Workers: 1, Log: c.Log,
			Reconcile: func(context.Context, controller.Name) (time.Duration, error) { return 0, nil }}.Run(ctx)
	})
	wg.Go(func() { c.follow(ctx, quotas) })
	all := func() {
		quotas.All(func(name controller.Name, _ *quotaView) { c.due.add(name.Namespace) })
	}
	all()
	c.count(ctx, all)
}

// count recounts the namespaces that are due until ctx ends, with one fence for all that are due at
// a time. all makes every namespace with quotas due.
func (c *Controller) count(ctx context.Context, all func()) {
	tick := time.NewTicker(resync)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			all()
		case <-c.ResourcesChanged():
			all()
		case <-c.due.wake:
		}
		pause := fencePause
		namespaces := c.due.take()
		if err := c.recount(ctx, namespaces); err != nil && ctx.Err() == nil {
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

// follow makes namespaces with quotas due when one of their objects may use less.
func (c *Controller) follow(ctx context.Context, quotas *controller.Informer[quotaView]) {
	for ctx.Err() == nil {
		feed, err := c.Changes(ctx)
		for err == nil {
			var namespaces []string
			namespaces, err = feed.Next(ctx)
			for _, namespace := range namespaces {
				quotas.Each(namespace, func(controller.Name, *quotaView) { c.due.add(namespace) })
			}
		}
		if feed != nil {
			feed.Close()
		}
		if ctx.Err() != nil {
			return
		}
		// Some changes were missed.
		c.Log.Warn("the feed of changes was interrupted", zap.Error(err))
		quotas.All(func(name controller.Name, _ *quotaView) { c.due.add(name.Namespace) })
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// due is the set of namespaces that are due.
type due struct {
	wake chan struct{} // has a token if the set is not empty
	mu   sync.Mutex
	set  map[string]bool
}

func (d *due) add(namespaces ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, namespace := range namespaces {
		if d.set == nil {
			d.set = map[string]bool{}
		}
		d.set[namespace] = true
	}
	if len(d.set) > 0 {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// take empties the set and returns its namespaces, sorted.
func (d *due) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for namespace := range d.set {
		list = append(list, namespace)
	}
	d.set = nil
	slices.Sort(list)
	return list
}
