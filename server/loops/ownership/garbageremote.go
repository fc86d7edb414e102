package ownership

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
)

// remotes tell the graph of the objects that other servers keep. Each resource that can be listed,
// watched and deleted is followed from when it is known until its server says that it has no such
// resource, or nothing leads to the server any more. As long as the server cannot be reached, the
// graph keeps what it knows: that an object is gone has to be said by its server.
//
// Nobody needs to trust a watch of another server for that: an owner that it says is gone is asked
// for once more.
type remotes struct {
	pass      *garbagePass
	followers sync.WaitGroup
	unseen    atomic.Int64             // of the resources: neither listed yet nor failed to be
	followed  map[Home]*remoteFollower // belongs to update
}

// remoteFollower follows one resource.
type remoteFollower struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the graph has forgotten the objects
}

// update begins to follow the resources that have come, and ends it for those that have gone. Calls
// come one after the other.
func (r *remotes) update(ctx context.Context) {
	homes, unknown := r.pass.Resources.Elsewhere()
	known := map[Home]bool{}
	var come []Home
	for _, home := range homes {
		if known[home] = true; r.followed[home] == nil {
			come = append(come, home)
		}
	}
	for _, gv := range unknown {
		for home := range r.followed {
			known[home] = known[home] || home.Resource.GroupVersion() == gv
		}
	}
	r.unseen.Add(int64(len(come))) // first: the version that goes may be of the same objects as one that comes
	for home, f := range r.followed {
		if !known[home] {
			f.cancel()
			<-f.done
			delete(r.followed, home)
		}
	}
	for _, home := range come {
		ctx, cancel := context.WithCancel(ctx)
		f := &remoteFollower{cancel, make(chan struct{})}
		r.followed[home] = f
		r.followers.Go(func() {
			defer close(f.done)
			r.follow(ctx, home)
		})
	}
}

// follow tells the graph of the objects of a resource until ctx ends. Then the graph forgets them.
func (r *remotes) follow(ctx context.Context, home Home) {
	seen := sync.OnceFunc(func() {
		if r.unseen.Add(-1) == 0 {
			r.pass.graph.reconsider()
		}
	})
	defer seen()
	level := zap.WarnLevel // of the next failure: the first in a row is worth a line
	failed := func(err error) {
		r.pass.Log.Log(level, "watch failed", zap.Stringer("resource", home.Resource.GroupResource()), zap.Error(err))
		level = zap.DebugLevel
		seen()
	}
	objects := r.pass.objects(home.Resource, "").Source(meta.ListOptions{})
	for b := range follow.Changes(ctx, objects, follow.Options{Failed: failed}) {
		level = zap.WarnLevel
		for _, ch := range b.Changes {
			switch key := home.key(ch.Name.Namespace, ch.Name.Name); {
			case ch.Gone:
				r.pass.graph.vanish(key)
			case ch.Unread == nil:
				r.pass.graph.applyRemote(key, ch.New)
			}
		}
		if b.InStep {
			seen()
		}
	}
	r.pass.graph.forget(home.Prefix)
}

// hold reports whether n has to wait, because there may be objects that depend on it and have not
// been seen yet. It is looked at again when all have been. A server that does not answer holds
// nobody for longer than its first request.
func (r *remotes) hold(n *node) bool {
	if r.unseen.Load() == 0 {
		return false
	}
	r.pass.graph.park(n)
	return r.unseen.Load() > 0 // second: who sees the last may have looked at what is parked just before
}

// applyRemote is apply for an object that another server keeps.
func (g *ownerGraph) applyRemote(key string, obj *meta.PartialObjectMetadata) {
	seen := codec.Ownership{
		UID: string(obj.UID), Namespace: obj.Namespace, Deleting: obj.DeletionTimestamp != nil, Finalizers: obj.Finalizers,
	}
	for i := range obj.OwnerReferences {
		ref := &obj.OwnerReferences[i]
		seen.Owners = append(seen.Owners, codec.OwnerRef{
			APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: string(ref.UID),
			Blocks: ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion,
		})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.takeLocked(key, &seen, 0)
}

// vanish notes that a watch of another server does not show an object any more.
func (g *ownerGraph) vanish(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.place(key)]; n != nil {
		g.vanishLocked(n)
	}
}

// forget is vanish for all keys with a prefix.
func (g *ownerGraph) forget(prefix string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.mu.nodes {
		if strings.HasPrefix(n.key, prefix) {
			g.vanishLocked(n)
		}
	}
}

// vanishLocked notes that a watch has reported the deletion of n. No owner waits for n any more. If
// something depends on n, n is queued: a GET confirms that it has gone.
func (g *ownerGraph) vanishLocked(n *node) {
	n.state, n.waits = unknown, nothing
	old := n.owners
	n.owners = nil
	g.unlinkLocked(old)
	delete(g.mu.loose, n)
	if n.dependents != nil {
		g.todo.Add(n)
	}
	g.dropLocked(n)
}
