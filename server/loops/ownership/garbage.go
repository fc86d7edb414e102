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
	"github.com/coracle-project/coracle/server/loops/ownergraph"
)

// This file has the life of the garbage collector: it follows the store, starts the workers, and
// hands each due object to a garbageItem. Only the server calls Run.

// Change is one step of a Stream: the value at one key of the store, or the end of the scan of all
// objects that exist.
type Change struct {
	// Key names the object: see Resources.
	Key string
	// Value is the object as it is stored, nil if it is gone. The graph keeps no part of it.
	Value []byte
	Rev   uint64 // the object's resourceVersion
	// Synced marks the end of the scan: the other fields are zero, and later steps are changes that
	// happened after the Stream began.
	Synced bool
}

// Stream yields every object of a store, then one Change that is Synced, and then every change, in
// order, until ctx ends. After an error it yields nothing: changes may have been missed, so the
// caller begins another Stream and builds its state again.
type Stream func(ctx context.Context) iter.Seq2[Change, error]

// GarbageCollector deletes objects whose owners are all gone. It removes the finalizer
// foregroundDeletion from an owner whose blocking dependents are gone. For an owner with the
// finalizer orphan, it removes the owner's references from the dependents, and then the finalizer.
//
// It keeps a graph of owners and dependents. The graph says which objects are worth a look. Then a
// worker reads the object and its owners from the server and decides. Each write names the revision
// that was read, so it fails if the object's owners have changed since. The collector believes the
// graph without a read in two cases. First, the graph says what one revision of an object holds, if
// the write names that revision. Second, the graph says that the owner with a UID is gone, because
// a UID never comes back.
//
// Kubernetes' collector keeps the same graph, but fills it from one metadata watch for each
// resource of discovery. Here one Stream shows all stored objects; only resources of servers behind
// this one are watched (garbageremote.go).
type GarbageCollector struct {
	Client    *client.Client // reads and writes metadata of objects, here and on servers behind this one
	Stream    Stream         // shows the objects of this server's store
	Resources Resources      // tells which resources are served
	Log       *zap.Logger    // gets a line for each failure; nil logs nothing
}

// garbageWorkers is the number of objects that are worked on at the same time, as many as in
// kube-controller-manager (--concurrent-gc-syncs).
const garbageWorkers = 20

// rebuildPause is the pause after a Stream has ended, before another Stream builds a new graph.
const rebuildPause = time.Second

// Run collects garbage until ctx ends.
func (c *GarbageCollector) Run(ctx context.Context) {
	c.Log = cmp.Or(c.Log, zap.NewNop())
	for ctx.Err() == nil {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("cannot follow the store, the graph of owners is built again", zap.Error(err))
		}
		select {
		case <-time.After(rebuildPause):
		case <-ctx.Done():
		}
	}
}

// follow builds a graph and works on it until the stream ends. No worker starts before the scan is
// complete, because an object that seems to have no dependents might have one that the stream has
// not shown yet.
func (c *GarbageCollector) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	pass := &garbagePass{
		GarbageCollector: c, graph: ownergraph.New(c.Resources),
		recorder: controller.NewRecorder(c.Client, "garbage-collector-controller", c.Log),
		looks:    ownerLooks{last: map[ownergraph.WaitingOwner]time.Time{}},
	}
	pass.remotes = &remotes{pass: pass, followed: map[ownergraph.Mapping]*remoteFollower{}}
	defer controller.Measure(ctx, "garbage_collector_attempt_to_delete", pass.graph.Todo)()
	var workers sync.WaitGroup
	defer pass.remotes.followers.Wait() // after the workers, one of which adds followers
	defer workers.Wait()
	defer cancel()
	for change, err := range c.Stream(ctx) {
		switch {
		case err != nil:
			return err
		case change.Synced:
			pass.graph.Synced()
			pass.remotes.update(ctx) // before the workers begin: remotes.hold needs the count of unseen resources
			workers.Go(func() { pass.reconsider(ctx) })
			for range garbageWorkers {
				workers.Go(func() { controller.RunWorker(ctx, pass.graph.Todo, pass.reconcile, pass.failed) })
			}
		default:
			pass.graph.Apply(change.Key, change.Value, change.Rev)
		}
	}
	return ctx.Err()
}

// garbagePass is the work on one graph, from one Stream. Its workers share it.
type garbagePass struct {
	*GarbageCollector
	graph    *ownergraph.Graph
	recorder *controller.Recorder
	looks    ownerLooks
	remotes  *remotes
}

// reconsider waits for resources that come or go, until ctx ends. After each change it updates
// which resources of other servers are followed, links references to kinds that have come, and
// queues the parked nodes.
func (p *garbagePass) reconsider(ctx context.Context) {
	for ctx.Err() == nil {
		stored, elsewhere := p.Resources.Changed()
		p.remotes.update(ctx)
		p.graph.Reconsider()
		select {
		case <-stored:
		case <-elsewhere:
		case <-ctx.Done():
		}
	}
}

func (p *garbagePass) failed(n *ownergraph.Node, err error) {
	level := zap.WarnLevel
	if meta.IsUnreadable(err) { // the server logs each unreadable object once
		level = zap.DebugLevel
	}
	p.Log.Log(level, "reconcile failed", zap.String("key", n.Key()), zap.Error(err))
}

// objects returns the client for a resource. The collector reads and writes metadata only.
func (p *garbagePass) objects(
	gvr meta.GroupVersionResource, namespace string,
) client.Resource[*meta.PartialObjectMetadata] {
	return client.For[*meta.PartialObjectMetadata](p.Client, gvr).In(namespace)
}

// conflictPause is the pause before the next look at an object after a write has failed because the
// object had changed since the read.
const conflictPause = 10 * time.Millisecond

// remoteOwnerPause is the pause before the next look at an owner on another server that has
// dependents. Without it, nobody would learn that such an owner is gone if its resource cannot be
// watched.
const remoteOwnerPause = time.Minute

// reconcile looks at the object of a node and takes the one step that is due for it. The stream
// shows the change that the step makes, and so queues the node for the next step.
func (p *garbagePass) reconcile(ctx context.Context, n *ownergraph.Node) (again time.Duration, err error) {
	if !p.graph.Has(n) {
		return 0, nil
	}
	at, ok := p.Resources.ObjectAt(n.Key())
	if !ok {
		p.graph.Park(n)
		return 0, nil
	}
	item := &garbageItem{garbagePass: p, node: n, at: at, objects: p.objects(at.Resource, at.Namespace)}
	if done, err := item.settlePlain(ctx); done {
		return 0, ignoreAbsent(err)
	}
	item.live, err = item.objects.Get(ctx, at.Name, meta.GetOptions{})
	if err != nil {
		item.live = nil
	}
	if at.Remote && p.graph.Found(n, item.live, isAbsent(err)) {
		again = remoteOwnerPause
	}
	if isAbsent(err) {
		p.graph.Missing(n)
		return again, nil
	}
	if err == nil {
		item.view = p.graph.Look(n, string(item.live.UID))
		err = item.settle(ctx)
	}
	if meta.IsConflict(err) {
		return conflictPause, nil
	}
	return again, ignoreAbsent(err)
}

// ignoreAbsent returns nil if err says that the object is gone, or that its resource has no such
// verb: no later try would succeed then.
func ignoreAbsent(err error) error {
	if isAbsent(err) || meta.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// isAbsent reports whether err says that there is no object of this name. A 404 for a resource that
// is not served does not name an object, and says nothing about objects.
func isAbsent(err error) bool {
	return meta.IsNotFound(err) && meta.StatusOf(err).Details != nil && meta.StatusOf(err).Details.Name != ""
}
