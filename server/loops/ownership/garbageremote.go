package ownership

import (
	"context"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/follow"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
)

// This file brings objects of servers behind this one into the graph of owners. The Stream shows
// only the store of this server, so each resource of another server has a follower, which lists and
// watches the metadata of its objects. garbagePass calls update, settle calls hold, and the rest
// runs in followers.

// remotes follows the resources of other servers. It follows a resource from the moment when the
// server first says that the resource can be listed, watched and deleted. It stops when the server
// says that it has no such resource, or when no API service leads to the server any longer.
//
// While a server cannot be reached, the graph keeps the objects of that server, because only an
// answer of the server says that an object is gone. Even a watch event of a deletion is not enough
// if the object has dependents: a worker first reads the object, because a wrong event would delete
// the dependents.
type remotes struct {
	pass      *garbagePass
	followers sync.WaitGroup
	unseen    atomic.Int64                           // followed resources whose first list has neither ended nor failed
	followed  map[ownergraph.Mapping]*remoteFollower // belongs to update; two calls of update never overlap
}

// remoteFollower follows one resource.
type remoteFollower struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the graph has forgotten the objects
}

// update starts a follower for each resource that has come, and ends the followers of resources
// that have gone. It waits until the graph has forgotten the objects of the latter. The followers
// end with ctx at the latest. If it is unknown which resources a version has, the followers of that
// version go on.
func (r *remotes) update(ctx context.Context) {
	mappings, unknown := r.pass.Resources.RemoteResources()
	kept := map[ownergraph.Mapping]bool{}
	var come []ownergraph.Mapping
	for _, mapping := range mappings {
		if kept[mapping] = true; r.followed[mapping] == nil {
			come = append(come, mapping)
		}
	}
	for _, gv := range unknown {
		for mapping := range r.followed {
			kept[mapping] = kept[mapping] || mapping.Resource.GroupVersion() == gv
		}
	}
	// Before followers end: if another version of the same objects comes, hold must already wait
	// for it when the objects of the old version are forgotten.
	r.unseen.Add(int64(len(come)))
	for mapping, f := range r.followed {
		if !kept[mapping] {
			f.cancel()
			<-f.done
			delete(r.followed, mapping)
		}
	}
	for _, mapping := range come {
		ctx, cancel := context.WithCancel(ctx)
		f := &remoteFollower{cancel, make(chan struct{})}
		r.followed[mapping] = f
		r.followers.Go(func() {
			defer close(f.done)
			r.follow(ctx, mapping)
		})
	}
}

// follow is a follower: it gives the objects of a resource to the graph until ctx ends. Then the
// graph forgets them. The resource counts as seen after its first complete list, or after the first
// failure, because a server that does not answer must not keep owners from being deleted for ever.
func (r *remotes) follow(ctx context.Context, mapping ownergraph.Mapping) {
	seen := sync.OnceFunc(func() {
		if r.unseen.Add(-1) == 0 {
			r.pass.graph.Reconsider()
		}
	})
	defer seen()
	level := zap.WarnLevel // of the next failure; only the first of a row is a warning
	failed := func(err error) {
		r.pass.Log.Log(level, "watch failed",
			zap.Stringer("resource", mapping.Resource.GroupResource()), zap.Error(err))
		level = zap.DebugLevel
		seen()
	}
	objects := r.pass.objects(mapping.Resource, "").Source(meta.ListOptions{})
	for b := range follow.Changes(ctx, objects, follow.Options{Failed: failed}) {
		level = zap.WarnLevel
		for _, ch := range b.Changes {
			switch key := mapping.Key(ch.Name.Namespace, ch.Name.Name); {
			case ch.Gone:
				r.pass.graph.Vanish(key)
			case ch.Unread == nil:
				r.pass.graph.ApplyRemote(key, ch.New)
			}
		}
		if b.InStep {
			seen()
		}
	}
	r.pass.graph.Forget(mapping.Prefix)
}

// hold reports whether an owner must keep waiting, because some resource of another server is not
// seen yet and may have dependents of the owner. hold parks the owner then. The follower of the
// last resource that is seen queues it again. A server that does not answer holds owners only until
// the first request to it has failed.
func (r *remotes) hold(n *ownergraph.Node) bool {
	if r.unseen.Load() == 0 {
		return false
	}
	r.pass.graph.Park(n)
	// The count is read again after Park, because the last follower may have queued the parked
	// nodes before n was among them.
	return r.unseen.Load() > 0
}
