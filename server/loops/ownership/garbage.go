package ownership

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Change is one step of a Stream: what is at a key of the store now, or that everything has been
// shown.
type Change struct {
	Key    string
	Value  []byte // as it is stored; nil if the object is gone
	Rev    uint64 // its resourceVersion
	Synced bool   // nothing has changed: what comes from now on has happened since
}

// Stream yields every object of a store, then a Change that is Synced, and then every change, in
// order, until ctx ends. An error is the last thing that it yields: who goes on has to begin anew.
type Stream func(ctx context.Context) iter.Seq2[Change, error]

// GarbageCollector ends what has been deleted: it deletes objects whose owners are all gone, lets
// go those that wait for their dependents to go first (the finalizer foregroundDeletion), and has
// dependents forget owners that go without them (orphan).
//
// It keeps a graph of who depends on whom, which says what is worth a look. What to do is decided
// by what the server says then, and every change names what was looked at: the revision of an
// object with its owners. The graph alone is believed what that revision holds, and that an owner
// is gone, which never changes. All that has to be remembered is in the store, so it goes on after
// a crash wherever it was.
type GarbageCollector struct {
	Client    *client.Client
	Stream    Stream
	Resources Resources
	Log       *zap.Logger // of what fails; nil for none
}

// garbageWorkers is how many objects are looked at at once, as many as in kube-controller-manager.
const garbageWorkers = 20

// anew is the pause before the graph is built anew.
const anew = time.Second

// Run works until ctx ends.
func (c *GarbageCollector) Run(ctx context.Context) {
	c.Log = cmp.Or(c.Log, zap.NewNop())
	for ctx.Err() == nil {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("the graph of owners is built anew", zap.Error(err))
		}
		select {
		case <-time.After(anew):
		case <-ctx.Done():
		}
	}
}

// follow builds a graph and works on it until the stream ends. Nobody works before everything has
// been seen: what nobody seems to depend on could have dependents.
func (c *GarbageCollector) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	pass := &garbagePass{
		GarbageCollector: c, graph: newOwnerGraph(c.Resources), recorder: controller.NewRecorder(c.Client, "garbage-collector-controller", c.Log),
		looks: ownerLooks{last: map[waitingOwner]time.Time{}},
	}
	pass.remotes = &remotes{pass: pass, followed: map[Home]*remoteFollower{}}
	var workers sync.WaitGroup
	defer pass.remotes.followers.Wait() // after the workers, one of which adds followers
	defer workers.Wait()
	defer cancel()
	for change, err := range c.Stream(ctx) {
		switch {
		case err != nil:
			return err
		case change.Synced:
			pass.graph.synced()
			pass.remotes.update(ctx) // before the workers begin: see hold
			workers.Go(func() { pass.reconsider(ctx) })
			for range garbageWorkers {
				workers.Go(func() { controller.Work(ctx, pass.graph.todo, pass.reconcile, pass.failed) })
			}
		default:
			pass.graph.apply(change.Key, change.Value, change.Rev)
		}
	}
	return ctx.Err()
}

// garbagePass is the work on one graph.
type garbagePass struct {
	*GarbageCollector
	graph    *ownerGraph
	recorder *controller.Recorder
	looks    ownerLooks
	remotes  *remotes
}

// reconsider follows the resources that come and go, and has those of other servers followed.
func (p *garbagePass) reconsider(ctx context.Context) {
	for ctx.Err() == nil {
		stored, elsewhere := p.Resources.Changed()
		p.remotes.update(ctx)
		p.graph.reconsider()
		select {
		case <-stored:
		case <-elsewhere:
		case <-ctx.Done():
		}
	}
}

func (p *garbagePass) failed(n *node, err error) {
	level := zap.WarnLevel
	if meta.IsUnreadable(err) { // the server has named the object, once
		level = zap.DebugLevel
	}
	p.Log.Log(level, "reconcile failed", zap.String("key", n.key), zap.Error(err))
}

// objects are what the collector reads and writes: nothing but metadata.
func (p *garbagePass) objects(gvr meta.GroupVersionResource, namespace string) client.Resource[*meta.PartialObjectMetadata] {
	return client.For[*meta.PartialObjectMetadata](p.Client, gvr).In(namespace)
}

// soon is when an object is looked at again that has changed in between.
const soon = 10 * time.Millisecond

// lookElsewhere is when an owner that another server keeps is looked at again, as not every
// resource can be watched.
const lookElsewhere = time.Minute

// reconcile looks at the object of a node and does for it what is to be done now. Whatever that
// changes comes back by the stream, and whatever is to be done after it then.
func (p *garbagePass) reconcile(ctx context.Context, n *node) (again time.Duration, err error) {
	if !p.graph.has(n) {
		return 0, nil
	}
	place, ok := p.Resources.Place(n.key)
	if !ok {
		p.graph.park(n)
		return 0, nil
	}
	item := &garbageItem{garbagePass: p, node: n, place: place, objects: p.objects(place.Resource, place.Namespace)}
	if done, err := item.settleKnown(ctx); done {
		return 0, ignoreAbsent(err)
	}
	item.live, err = item.objects.Get(ctx, place.Name, meta.GetOptions{})
	if place.Elsewhere && p.graph.found(n, item.live, err) {
		again = lookElsewhere
	}
	if isAbsent(err) {
		p.graph.missing(n)
		return again, nil
	}
	if err == nil {
		item.view = p.graph.look(n, string(item.live.UID))
		err = item.settle(ctx)
	}
	if meta.IsConflict(err) {
		return soon, nil
	}
	return again, ignoreAbsent(err)
}

// isWaiting is waitOf an object.
func isWaiting(obj *meta.PartialObjectMetadata) wait {
	return waitOf(obj.DeletionTimestamp != nil, obj.Finalizers)
}

// ignoreAbsent drops the errors of objects that are gone, and of those whose resource does not let
// them go.
func ignoreAbsent(err error) error {
	if isAbsent(err) || meta.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// isAbsent reports whether there is no such object. That there is no such resource is something
// else.
func isAbsent(err error) bool {
	return meta.IsNotFound(err) && meta.StatusOf(err).Details != nil && meta.StatusOf(err).Details.Name != ""
}
