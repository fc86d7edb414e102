package ownership

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// known is what the graph knows of an object that has nothing special about it and no owner that
// keeps it: enough to do what is to be done with one request, in the revision in which it was seen.
type known struct {
	rev     uint64 // 0 if there is no such object: somebody has to look at it
	owns    bool   // there are objects that depend on it
	waiting []waitingOwner
}

// waitingOwner is an owner that waits for its dependents. Its other owners are gone.
type waitingOwner struct {
	key   string
	uid   identity
	waits wait
}

// known returns what is known of n.
func (g *ownerGraph) known(n *node) (k known) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, isLoose := g.mu.loose[n]; isLoose || n.owners == nil || n.state != present {
		return known{}
	}
	for e := n.owners; e != nil; e = e.also {
		switch o := e.owner; {
		case o.uid != e.uid(), o.state == unknown, o.state == present && o.waits == nothing:
			return known{}
		case o.state == present:
			k.waiting = append(k.waiting, waitingOwner{o.key, o.uid, o.waits})
		}
	}
	k.rev, k.owns = n.get(), n.owns()
	return k
}

// settleKnown does for the object what is known to be to do. It reports whether that was all: if
// not, one has to look.
func (i *garbageItem) settleKnown(ctx context.Context) (done bool, err error) {
	k := i.graph.known(i.node)
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
		_, err = i.objects.Patch(ctx, i.place.Name, client.MergePatch, forget, meta.PatchOptions{})
	} else {
		err = i.objects.Delete(ctx, i.place.Name, meta.DeleteOptions{
			PropagationPolicy: &policy, Preconditions: &meta.Preconditions{ResourceVersion: &version},
		})
	}
	return !meta.IsConflict(err), err
}

// owners that were looked at lately, and how they waited.
type ownerLooks struct {
	sync.Mutex
	last map[waitingOwner]time.Time
}

const (
	// lately is how long a look at an owner counts for all its dependents.
	lately = 50 * time.Millisecond
	// maxLooks bounds the looks that are remembered.
	maxLooks = 256
)

// stillWaits reports whether an owner waits as the graph says. That an owner is gone never changes,
// but whether an owner waits may change: a client can delete the owner again in another way. So
// stillWaits also asks the server, but not once for each dependent.
func (p *garbagePass) stillWaits(ctx context.Context, o waitingOwner) bool {
	now := time.Now()
	p.looks.Lock()
	last := p.looks.last[o]
	p.looks.Unlock()
	if now.Sub(last) < lately {
		return true
	}
	place, ok := p.Resources.Place(o.key)
	if !ok {
		return false
	}
	live, err := p.objects(place.Resource, place.Namespace).Get(ctx, place.Name, meta.GetOptions{})
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
