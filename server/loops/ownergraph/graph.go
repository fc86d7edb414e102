package ownergraph

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/controller"
)

// This file has the graph, and how it takes in the changes of the store.

// Graph holds the references among objects, and queues the objects that are worth a look. It
// decides nothing: a worker reads an object before it writes it, or names the revision that the
// graph has seen. But workers believe the graph without a read if it says that an owner is gone.
//
// A node is a place for one object, named by the object's key. A key has a node if its object has
// ownerReferences or waits for its dependents, or if some reference names the key. All other
// objects have no node and cost no memory. An edge is one reference, from a dependent to the node
// that the reference names. The edge has the UID that the reference asks for. If the object at the
// node has another UID, the owner does not exist.
//
// Example: Pod p has a reference to ReplicaSet r. Each has a node, and one edge goes from p to r.
// When r is deleted, Apply is told; goneLocked marks r absent and queues p. A worker finds no owner
// of p and deletes p. Apply is told that as well; the edge goes, and with it both nodes.
//
// Methods that end in Locked need mu.
type Graph struct {
	// Todo holds the nodes that are worth a look. Workers take them.
	Todo *controller.Queue[*Node]

	resources Resources
	seed      maphash.Seed
	peek      codec.Ownership // reused by Apply, so it belongs to the goroutine that follows the store

	mu struct {
		sync.Mutex
		// nodes has the nodes by the hash of their key, which takes less memory than the key. If
		// two keys have the same hash, which happens in one process of a million, they share a
		// node, which has the key that came first. Workers then look at objects for nothing, and
		// the deletion of the object with the other key is ignored.
		nodes map[uint64]*Node
		// loose has the nodes with a reference to a kind that is not served at present, with copies
		// of all their references. Reconsider links them again.
		loose map[*Node]looseRefs
		// parked has the nodes whose objects workers put off until resources come or go.
		parked map[*Node]bool
		// seen has the mark of each object that the scan has shown. Synced reads it to tell whether
		// an owner exists that had no node when the scan showed it. It is nil from Synced on.
		seen map[uint64]bool
	}
}

// Node is a place for an object: the object may exist or not.
type Node struct {
	key        string
	uid        Identity // of the object that is there, or of the last object that was there; 0 if none was seen
	owners     *edge    // the references of the object, in order, linked by edge.also
	dependents *edge    // the references to this node, the newest first, linked by next and prev
	status
}

// Key returns the key of the object.
func (n *Node) Key() string { return n.key }

// status takes 8 bytes, because a graph may have a million nodes.
type status struct {
	rev   [6]byte // little endian: see set; 48 bits are enough for ever
	state presence
	waits Wait
}

// set stores the revision of the object. It is 0 if the fast path must not write the object: the
// object is being deleted, has a finalizer of the collector, or is on another server.
func (s *status) set(rev uint64) {
	for i := range s.rev {
		s.rev[i] = byte(rev >> (8 * i))
	}
}

func (s *status) get() (rev uint64) {
	for i, b := range s.rev {
		rev |= uint64(b) << (8 * i)
	}
	return rev
}

// Identity is a hash of a UID. Its lowest bit is 0, so that edge.packed has room for a flag.
type Identity uint64

// presence is what is known about the object of a node.
type presence uint8

const (
	unknown presence = iota // neither the stream nor a read has said whether the object exists
	present                 // the object exists, with the node's uid
	absent                  // no object exists at the key
)

// Wait is what an object that is being deleted waits for before the collector removes its
// finalizer.
type Wait uint8

const (
	Nothing    Wait = iota // it is not being deleted, or has no finalizer of the collector
	Foreground             // until its dependents with blockOwnerDeletion are gone
	Orphaning              // until no dependent names it
)

// Finalizer returns the finalizer because of which an object waits. w is not Nothing.
func (w Wait) Finalizer() string {
	if w == Orphaning {
		return meta.FinalizerOrphanDependents
	}
	return meta.FinalizerDeleteDependents
}

// WaitOf returns what an object waits for, by its deletionTimestamp and finalizers.
func WaitOf(obj *meta.PartialObjectMetadata) Wait {
	return waitOf(obj.DeletionTimestamp != nil, obj.Finalizers)
}

// waitOf returns what an object waits for. The finalizer orphan wins if the object has both.
func waitOf(deleting bool, finalizers []string) Wait {
	switch {
	case !deleting:
		return Nothing
	case slices.Contains(finalizers, meta.FinalizerOrphanDependents):
		return Orphaning
	case slices.Contains(finalizers, meta.FinalizerDeleteDependents):
		return Foreground
	}
	return Nothing
}

// ofCollector reports whether a finalizer is one of the two that the collector removes.
func ofCollector(finalizer string) bool {
	return finalizer == meta.FinalizerOrphanDependents || finalizer == meta.FinalizerDeleteDependents
}

// edge is one reference. It is in two lists: the dependents of its owner (next, prev) and the
// references of its dependent (also).
type edge struct {
	owner, dependent *Node
	next, prev       *edge    // among the owner's dependents
	also             *edge    // the dependent's next reference
	packed           Identity // the UID that the reference asks for; the lowest bit is blockOwnerDeletion
}

func (e *edge) uid() Identity { return e.packed &^ 1 }
func (e *edge) blocks() bool  { return e.packed&1 != 0 }

// holds reports whether the owner of e waits for the dependent of e.
func (e *edge) holds() bool {
	return e.uid() == e.owner.uid && (e.owner.waits == Orphaning || e.owner.waits == Foreground && e.blocks())
}

// looseRefs are copies of all references of an object. Reconsider makes edges of them when
// resources have come.
type looseRefs struct {
	namespace string
	refs      []codec.OwnerRef
}

// New returns a graph without objects. resources tells what references mean.
func New(resources Resources) *Graph {
	g := &Graph{resources: resources, Todo: controller.NewQueue[*Node](), seed: maphash.MakeSeed()}
	g.mu.nodes, g.mu.loose, g.mu.parked, g.mu.seen =
		map[uint64]*Node{}, map[*Node]looseRefs{}, map[*Node]bool{}, map[uint64]bool{}
	return g
}

// Identity returns the Identity of a UID, which is another one in each graph.
func (g *Graph) Identity(uid string) Identity { return Identity(maphash.String(g.seed, uid) &^ 1) }

func (g *Graph) keyHash(key string) uint64 { return maphash.String(g.seed, key) }

// mark returns a hash of a key together with a UID: the entry of one object in seen.
func (g *Graph) mark(key string, uid Identity) uint64 { return g.keyHash(key) ^ uint64(uid) }

// Apply takes in the present value at a key with its revision. value is nil if the object is gone.
// If the value cannot be decoded, the references of the object are not known, so its node stays as
// it was.
func (g *Graph) Apply(key string, value []byte, rev uint64) {
	if value != nil && codec.PeekOwners(value, &g.peek) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if value != nil {
		g.takeLocked(key, &g.peek, rev)
	} else if n := g.mu.nodes[g.keyHash(key)]; n != nil && n.key == key {
		g.goneLocked(n)
	}
}

// takeLocked takes in the state of an object. rev is 0 for an object on another server. takeLocked
// stores rev only if the fast path may write the object: see status.set.
func (g *Graph) takeLocked(key string, obj *codec.Ownership, rev uint64) {
	n := g.mu.nodes[g.keyHash(key)]
	uid, waits := g.Identity(obj.UID), waitOf(obj.Deleting, obj.Finalizers)
	if g.mu.seen != nil {
		g.mu.seen[g.mark(key, uid)] = true
	}
	if n == nil {
		if len(obj.Owners) == 0 && waits == Nothing || g.resources.Ignored(key) {
			return
		}
		n = g.nodeLocked(key)
	}
	g.thereLocked(n, uid, waits)
	if obj.Deleting || slices.ContainsFunc(obj.Finalizers, ofCollector) {
		rev = 0
	}
	n.set(rev)
	g.relinkLocked(n, obj.Namespace, obj.Owners)
	g.dropLocked(n)
}

// Synced ends the scan: Apply was called with each object that exists. A node is still unknown if the scan showed its object before a reference
// made the node, or did not show it at all. If seen has the object with the UID that a dependent
// asks for, Synced makes the node present. Otherwise it queues the node, so that a worker looks.
func (g *Graph) Synced() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.mu.nodes {
		if n.state != unknown {
			continue
		}
		for e := n.dependents; e != nil; e = e.next {
			if g.mu.seen[g.mark(n.key, e.uid())] {
				g.thereLocked(n, e.uid(), Nothing)
				break
			}
		}
		if n.state == unknown {
			g.Todo.Add(n)
		}
	}
	g.mu.seen = nil
}

// thereLocked notes that the object at n exists with this UID, and what it waits for. It queues the
// dependents that ask for another UID, because their owner does not exist. If the object begins to
// wait, or waits for something else than before, thereLocked queues the object and all its
// dependents.
func (g *Graph) thereLocked(n *Node, uid Identity, waits Wait) {
	if n.state != present || n.uid != uid {
		n.state, n.uid, n.waits = present, uid, Nothing
		for e := n.dependents; e != nil; e = e.next {
			if e.uid() != uid {
				g.Todo.Add(e.dependent)
			}
		}
	}
	if n.waits == waits {
		return
	}
	if n.waits = waits; waits != Nothing {
		g.Todo.Add(n)
		g.addDependentsLocked(n)
	}
}

// goneLocked notes that the object at n is gone. It queues the dependents, and removes the
// references of the object, which then no longer hold its owners.
func (g *Graph) goneLocked(n *Node) {
	n.state, n.waits = absent, Nothing
	n.set(0)
	g.addDependentsLocked(n)
	old := n.owners
	n.owners = nil
	g.unlinkLocked(old)
	delete(g.mu.loose, n)
	g.dropLocked(n)
}

func (g *Graph) addDependentsLocked(n *Node) {
	for e := n.dependents; e != nil; e = e.next {
		g.Todo.Add(e.dependent)
	}
}

// nodeLocked returns the node of a key, and makes it if there is none.
func (g *Graph) nodeLocked(key string) *Node {
	n := g.mu.nodes[g.keyHash(key)]
	if n == nil {
		n = &Node{key: key}
		g.mu.nodes[g.keyHash(key)] = n
	}
	return n
}

// dropLocked removes a node from the graph if its object has no references and no dependents, and
// waits for nothing.
func (g *Graph) dropLocked(n *Node) {
	if n.owners != nil || n.dependents != nil || n.waits != Nothing {
		return
	}
	if _, isLoose := g.mu.loose[n]; !isLoose && g.mu.nodes[g.keyHash(n.key)] == n {
		delete(g.mu.nodes, g.keyHash(n.key))
		delete(g.mu.parked, n)
	}
}

// relinkLocked replaces the edges of n by edges for refs, unless n has exactly these already. If
// one of refs gets no edge, because its kind is not served, n becomes loose.
func (g *Graph) relinkLocked(n *Node, namespace string, refs []codec.OwnerRef) {
	if g.linkedLocked(n, namespace, refs) {
		return
	}
	old := n.owners
	n.owners = nil
	delete(g.mu.loose, n)
	for i, last := 0, &n.owners; i < len(refs); i++ {
		if e := g.linkLocked(n, namespace, &refs[i]); e != nil {
			*last, last = e, &e.also
		} else {
			g.mu.loose[n] = looseRefs{} // filled in below
		}
	}
	if _, isLoose := g.mu.loose[n]; isLoose {
		g.mu.loose[n] = looseRefs{strings.Clone(namespace), cloneRefs(refs)}
	}
	g.unlinkLocked(old) // last, because an owner that old and new edges share would be dropped otherwise
}

// cloneRefs copies references with their strings. The strings in refs are parts of a stored value,
// so each would keep the whole value in memory.
func cloneRefs(refs []codec.OwnerRef) []codec.OwnerRef {
	refs = slices.Clone(refs)
	for i, r := range refs {
		refs[i] = codec.OwnerRef{
			APIVersion: strings.Clone(r.APIVersion), Kind: strings.Clone(r.Kind), Name: strings.Clone(r.Name),
			UID: strings.Clone(r.UID), Blocks: r.Blocks,
		}
	}
	return refs
}

// linkedLocked reports whether the edges of n are those for refs, in this order. It allocates
// nothing, because most changes of an object do not touch its references.
func (g *Graph) linkedLocked(n *Node, namespace string, refs []codec.OwnerRef) bool {
	e := n.owners
	for i := range refs {
		if e == nil || e.packed != g.pack(&refs[i]) {
			return false
		}
		mapping, ok := g.resources.Mapping(refs[i].APIVersion, refs[i].Kind)
		if !ok || !mapping.has(e.owner.key, namespace, refs[i].Name) {
			return false
		}
		e = e.also
	}
	return e == nil
}

func (g *Graph) pack(ref *codec.OwnerRef) Identity {
	packed := g.Identity(ref.UID)
	if ref.Blocks {
		packed |= 1
	}
	return packed
}

// linkLocked makes the edge for a reference of n. If it is unknown whether the owner exists,
// linkLocked queues the owner. If the owner is absent, has another UID, or waits, linkLocked queues
// n. It returns nil if the kind of the reference is not served.
func (g *Graph) linkLocked(n *Node, namespace string, ref *codec.OwnerRef) *edge {
	mapping, ok := g.resources.Mapping(ref.APIVersion, ref.Kind)
	if !ok {
		return nil
	}
	owner := g.nodeLocked(mapping.Key(namespace, ref.Name))
	if mapping.Namespaced && namespace == "" {
		owner.state = absent // a cluster-scoped object cannot have a namespaced owner
	}
	e := &edge{owner: owner, dependent: n, next: owner.dependents, packed: g.pack(ref)}
	if e.next != nil {
		e.next.prev = e
	}
	owner.dependents = e
	switch {
	case owner.state == unknown:
		if g.mu.seen == nil {
			g.Todo.Add(owner)
		}
	case owner.state == absent, owner.uid != e.uid(), owner.waits != Nothing:
		g.Todo.Add(n)
	}
	return e
}

// unlinkLocked removes the edges of one dependent, from first on, from the lists of their owners.
// It queues each owner that waits and that no dependent holds any longer.
func (g *Graph) unlinkLocked(first *edge) {
	for e := first; e != nil; e = e.also {
		if e.next != nil {
			e.next.prev = e.prev
		}
		if e.prev != nil {
			e.prev.next = e.next
		} else {
			e.owner.dependents = e.next
		}
		if e.owner.waits != Nothing && !e.owner.held() {
			g.Todo.Add(e.owner)
		}
		g.dropLocked(e.owner)
	}
}

// held reports whether n waits for some dependent.
func (n *Node) held() bool {
	if n.waits == Nothing {
		return false
	}
	for e := n.dependents; e != nil; e = e.next {
		if e.holds() {
			return true
		}
	}
	return false
}

// owns reports whether some reference names the object at n with its UID.
func (n *Node) owns() bool {
	for e := n.dependents; e != nil; e = e.next {
		if e.uid() == n.uid {
			return true
		}
	}
	return false
}

// holdsItself reports whether n is in a circle of objects that wait for each other in the
// foreground. They would wait for ever, but a worker breaks the circle.
func (n *Node) holdsItself() bool {
	seen := map[*Node]bool{}
	var leads func(from *Node) bool
	leads = func(from *Node) bool {
		for e := from.dependents; e != nil; e = e.next {
			if d := e.dependent; e.holds() && d.waits == Foreground && !seen[d] {
				if seen[d] = true; d == n || leads(d) {
					return true
				}
			}
		}
		return false
	}
	return n.waits == Foreground && leads(n)
}

// Park puts n off until resources come or go. Reconsider queues it then.
func (g *Graph) Park(n *Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.nodes[g.keyHash(n.key)] == n {
		g.mu.parked[n] = true
	}
}

// Reconsider links the loose nodes again and queues the parked nodes. It is called after resources
// have come or gone.
func (g *Graph) Reconsider() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.relinkLooseLocked()
	for n := range g.mu.parked {
		g.Todo.Add(n)
	}
	clear(g.mu.parked)
}

func (g *Graph) relinkLooseLocked() {
	for n, l := range maps.Clone(g.mu.loose) {
		g.relinkLocked(n, l.namespace, l.refs)
	}
}
