package ownership

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
)

// This file is the fast path of the garbage collector: settlePlain deletes or patches an object
// with one request and without a read of the object. It is for the case that is frequent: a plain
// object, such as a pod of a deleted ReplicaSet. The write names the revision that the graph has
// seen. If that revision is old, the write fails with a conflict, and the slow path
// (garbageitem.go) decides. TestRandomGraphs (garbagekill_test.go) compares both paths with a
// simple model.

// settlePlain deletes a plain object, or removes its references if an owner waits with the
// finalizer orphan. done is false if the object must be read first, because it is not plain, an
// owner does not wait as the graph says, or the object has changed.
//
// The patch removes all references at once, because none of the owners is solid. If an owner waits
// in the foreground and the object has dependents, the object is deleted in the foreground too.
func (i *garbageItem) settlePlain(ctx context.Context) (done bool, err error) {
	k := i.graph.Plain(i.node)
	if k.Rev == 0 {
		return false, nil
	}
	policy, released := meta.DeletePropagationBackground, false
	for _, o := range k.Waiting {
		if !i.stillWaits(ctx, o) {
			return false, nil
		}
		if released = released || o.Waits == ownergraph.Orphaning; k.Owns {
			policy = meta.DeletePropagationForeground
		}
	}
	version := strconv.FormatUint(k.Rev, 10)
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
	last map[ownergraph.WaitingOwner]time.Time // guarded by the mutex, at most maxLooks entries
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
func (p *garbagePass) stillWaits(ctx context.Context, o ownergraph.WaitingOwner) bool {
	now := time.Now()
	p.looks.Lock()
	last := p.looks.last[o]
	p.looks.Unlock()
	if now.Sub(last) < lookLasts {
		return true
	}
	at, ok := p.Resources.ObjectAt(o.Key)
	if !ok {
		return false
	}
	live, err := p.objects(at.Resource, at.Namespace).Get(ctx, at.Name, meta.GetOptions{})
	if err != nil || p.graph.Identity(string(live.UID)) != o.UID || ownergraph.WaitOf(live) != o.Waits {
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
