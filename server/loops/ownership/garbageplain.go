package ownership

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// This file is the fast path of the garbage collector: settlePlain deletes or patches an object
// with one request and without a read of the object. It is for the case that is frequent: a plain
// object, such as a pod of a deleted ReplicaSet. The write names the revision that the graph has
// seen. If that revision is old, the write fails with a conflict, and the slow path
// (garbageitem.go) decides. TestRandomGraphs (garbagekill_test.go) compares both paths with a
// simple model.

// plainObject is what the graph knows of a plain object: enough to decide about it without a read.
// An object is plain if nobody has deleted it, it has no finalizer of the collector, it has
// references, all of them have edges, and each owner is gone or waits.
type plainObject struct {
	rev     uint64         // the revision that the graph has seen; 0: the object is not plain
	owns    bool           // it has dependents
	waiting []waitingOwner // its owners that wait; its other owners are gone
}

// waitingOwner is an owner that waits for its dependents, as the graph has seen it.
type waitingOwner struct {
	key   string
	uid   identity
	waits wait
}

// plain returns what the graph knows of the object at n, or a plainObject without a revision if the
// object is not plain.
func (g *ownerGraph) plain(n *node) (k plainObject) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, isLoose := g.mu.loose[n]; isLoose || n.owners == nil || n.state != present {
		return plainObject{}
	}
	for e := n.owners; e != nil; e = e.also {
		switch o := e.owner; {
		case o.uid != e.uid(), o.state == unknown, o.state == present && o.waits == nothing:
			return plainObject{}
		case o.state == present:
			k.waiting = append(k.waiting, waitingOwner{o.key, o.uid, o.waits})
		}
	}
	k.rev, k.owns = n.get(), n.owns()
	return k
}

// settlePlain deletes a plain object, or removes its references if an owner waits with the
// finalizer orphan. done is false if the object must be read first, because it is not plain, an
// owner does not wait as the graph says, or the object has changed.
//
// The patch removes all references at once, because none of the owners is solid. If an owner waits
// in the foreground and the object has dependents, the object is deleted in the foreground too.
func (i *garbageItem) settlePlain(ctx context.Context) (done bool, err error) {
	k := i.graph.plain(i.node)
	if k.rev == 0 {
		return false, nil
	}
	policy, released := meta.DeletePropagationBackground, false
	for _, o := range k.waiting {
		if !i.stillWaits(ctx, o) {
			return false, nil
		}
		if released = released || o.waits == orphaning; k.owns {
			policy = meta.DeletePropagationForeground
		}
	}
	version := strconv.FormatUint(k.rev, 10)
	if released {
		forget := []byte(`{"metadata":{"ownerReferences":null,"resourceVersion":"` + version + `"}}`)
		_, err = i.objects.Patch(ctx, i.at.Name, client.MergePatch, forget, meta.PatchOptions{})
	} else {
		err = i.objects.Delete(ctx, i.at.Name, meta.DeleteOptions{
			PropagationPolicy: &policy, Preconditions: &meta.Preconditions{ResourceVersion: &version},
		})
	}
	return !meta.IsConflict(err), err
}

// ownerLooks remembers when a read last showed that an owner waits, and how it waited. The workers
// of a garbagePass share it.
type ownerLooks struct {
	sync.Mutex
	last map[waitingOwner]time.Time // guarded by the mutex, at most maxLooks entries
}

const (
	// lookLasts is how long one read of an owner counts for all its dependents. So an owner of
	// thousands of objects is read twenty times a second, and not once for each object.
	lookLasts = 50 * time.Millisecond
	// maxLooks is the number of owners that ownerLooks remembers. Before one more is added, all are
	// forgotten.
	maxLooks = 256
)

// stillWaits reports whether an owner waits as the graph says. An owner that is gone stays gone,
// but how an owner waits may change: a client can delete it again with another policy. So
// stillWaits asks the server, but not once for each dependent.
func (p *garbagePass) stillWaits(ctx context.Context, o waitingOwner) bool {
	now := time.Now()
	p.looks.Lock()
	last := p.looks.last[o]
	p.looks.Unlock()
	if now.Sub(last) < lookLasts {
		return true
	}
	at, ok := p.Resources.ObjectAt(o.key)
	if !ok {
		return false
	}
	live, err := p.objects(at.Resource, at.Namespace).Get(ctx, at.Name, meta.GetOptions{})
	if err != nil || p.graph.identity(string(live.UID)) != o.uid || isWaiting(live) != o.waits {
		return false
	}
	p.looks.Lock()
	defer p.looks.Unlock()
	if len(p.looks.last) >= maxLooks {
		clear(p.looks.last)
	}
	p.looks.last[o] = now
	return true
}
