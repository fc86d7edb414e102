package ownergraph

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has what the graph learns about objects of servers behind this one.

// ApplyRemote takes in the present state of an object on another server. It keeps no revision of
// the object, because the fast path is only for objects of this server's store.
func (g *Graph) ApplyRemote(key string, obj *meta.PartialObjectMetadata) {
	seen := codec.Ownership{
		UID: string(obj.UID), Namespace: obj.Namespace,
		Deleting: obj.DeletionTimestamp != nil, Finalizers: obj.Finalizers,
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

// Vanish notes that a watch of another server has reported the deletion of the object at key.
func (g *Graph) Vanish(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.keyHash(key)]; n != nil {
		g.vanishLocked(n)
	}
}

// Forget notes that a resource is no longer followed: it does for all objects whose key has the
// prefix what vanish does for one. It goes through all nodes, which happens rarely, because
// resources rarely go.
func (g *Graph) Forget(prefix string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.mu.nodes {
		if strings.HasPrefix(n.key, prefix) {
			g.vanishLocked(n)
		}
	}
}

// vanishLocked makes the object at n unknown and removes its references, so that no owner waits for
// it. If n has dependents, vanishLocked queues n: a read must say that the object is gone before
// the dependents are deleted.
func (g *Graph) vanishLocked(n *Node) {
	n.state, n.waits = unknown, Nothing
	old := n.owners
	n.owners = nil
	g.unlinkLocked(old)
	delete(g.mu.loose, n)
	if n.dependents != nil {
		g.Todo.Add(n)
	}
	g.dropLocked(n)
}
