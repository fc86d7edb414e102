package ownership

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

// This file is the graph of owners and dependents: how it takes in changes, and what it answers to
// the workers. follow (garbage.go) gives it the objects of the store, and remotes
// (garbageremote.go) those of other servers. garbageplain.go has the method for the fast path.

// ownerGraph holds the references among objects, and queues the objects that are worth a look. It
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
// When r is deleted, the Stream shows it; goneLocked marks r absent and queues p. A worker finds no
// owner of p and deletes p. The Stream shows that as well; the edge goes, and with it both nodes.
//
// todo holds the nodes that are worth a look. The goroutine of the Stream calls apply, in order,
// and synced once. All other methods may be called at once, and those that end in Locked need mu.
type ownerGraph struct {
	resources Resources
	todo      *controller.Queue[*node]
	seed      maphash.Seed
	peek      codec.Ownership // reused by apply, so it belongs to the goroutine of the Stream

	mu struct {
		sync.Mutex
		// nodes has the nodes by the hash of their key, which takes less memory than the key. If
		// two keys have the same hash, which happens in one process of a million, they share a
		// node, which has the key that came first. Workers then look at objects for nothing, and
		// the deletion of the object with the other key is ignored.
		nodes map[uint64]*node
		// loose has the nodes with a reference to a kind that is not served at present, with copies
		// of all their references. reconsider links them again.
		loose map[*node]looseRefs
		// parked has the nodes whose objects workers put off until resources come or go.
		parked map[*node]bool
		// seen has the mark of each object that the scan has shown. synced reads it to tell whether
		// an owner exists that had no node when the scan showed it. It is nil from synced on.
		seen map[uint64]bool
	}
}

// node is a place for an object: the object may exist or not.
type node struct {
	key        string
	uid        identity // of the object that is there, or of the last object that was there; 0 if none was seen
	owners     *edge    // the references of the object, in order, linked by edge.also
	dependents *edge    // the references to this node, the newest first, linked by next and prev
	status
}

// status takes 8 bytes, because a graph may have a million nodes.
type status struct {
	rev   [6]byte // little endian: see set; 48 bits are enough for ever
	state presence
	waits wait
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

// identity is a hash of a UID. Its lowest bit is 0, so that edge.packed has room for a flag.
type identity uint64

// presence is what is known about the object of a node.
type presence uint8

const (
	unknown presence = iota // neither the stream nor a read has said whether the object exists
	present                 // the object exists, with the node's uid
	absent                  // no object exists at the key
)

// wait is what an object that is being deleted waits for before the collector removes its
// finalizer.
type wait uint8

const (
	nothing    wait = iota // it is not being deleted, or has no finalizer of the collector
	foreground             // until its dependents with blockOwnerDeletion are gone
	orphaning              // until no dependent names it
)

// finalizer returns the finalizer because of which an object waits. w is not nothing.
func (w wait) finalizer() string {
	if w == orphaning {
		return meta.FinalizerOrphanDependents
	}
	return meta.FinalizerDeleteDependents
}

// waitOf returns what an object waits for. The finalizer orphan wins if the object has both.
func waitOf(deleting bool, finalizers []string) wait {
	switch {
	case !deleting:
		return nothing
	case slices.Contains(finalizers, meta.FinalizerOrphanDependents):
		return orphaning
	case slices.Contains(finalizers, meta.FinalizerDeleteDependents):
		return foreground
	}
	return nothing
}

// ofCollector reports whether a finalizer is one of the two that the collector removes.
func ofCollector(finalizer string) bool {
	return finalizer == meta.FinalizerOrphanDependents || finalizer == meta.FinalizerDeleteDependents
}

// edge is one reference. It is in two lists: the dependents of its owner (next, prev) and the
// references of its dependent (also).
type edge struct {
	owner, dependent *node
	next, prev       *edge    // among the owner's dependents
	also             *edge    // the dependent's next reference
	packed           identity // the UID that the reference asks for; the lowest bit is blockOwnerDeletion
}

func (e *edge) uid() identity { return e.packed &^ 1 }
func (e *edge) blocks() bool  { return e.packed&1 != 0 }

// holds reports whether the owner of e waits for the dependent of e.
func (e *edge) holds() bool {
	return e.uid() == e.owner.uid && (e.owner.waits == orphaning || e.owner.waits == foreground && e.blocks())
}

// looseRefs are copies of all references of an object. reconsider makes edges of them when
// resources have come.
type looseRefs struct {
	namespace string
	refs      []codec.OwnerRef
}

func newOwnerGraph(resources Resources) *ownerGraph {
	g := &ownerGraph{resources: resources, todo: controller.NewQueue[*node](), seed: maphash.MakeSeed()}
	g.mu.nodes, g.mu.loose, g.mu.parked, g.mu.seen =
		map[uint64]*node{}, map[*node]looseRefs{}, map[*node]bool{}, map[uint64]bool{}
	return g
}

func (g *ownerGraph) identity(uid string) identity { return identity(maphash.String(g.seed, uid) &^ 1) }

func (g *ownerGraph) keyHash(key string) uint64 { return maphash.String(g.seed, key) }

// mark returns a hash of a key together with a UID: the entry of one object in seen.
func (g *ownerGraph) mark(key string, uid identity) uint64 { return g.keyHash(key) ^ uint64(uid) }

// apply takes in the present value at a key with its revision. value is nil if the object is gone.
// If the value cannot be decoded, the references of the object are not known, so its node stays as
// it was.
func (g *ownerGraph) apply(key string, value []byte, rev uint64) {
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
func (g *ownerGraph) takeLocked(key string, obj *codec.Ownership, rev uint64) {
	n := g.mu.nodes[g.keyHash(key)]
	uid, waits := g.identity(obj.UID), waitOf(obj.Deleting, obj.Finalizers)
	if g.mu.seen != nil {
		g.mu.seen[g.mark(key, uid)] = true
	}
	if n == nil {
		if len(obj.Owners) == 0 && waits == nothing || g.resources.Ignored(key) {
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

// synced ends the scan. A node is still unknown if the scan showed its object before a reference
// made the node, or did not show it at all. If seen has the object with the UID that a dependent
// asks for, synced makes the node present. Otherwise it queues the node, so that a worker looks.
func (g *ownerGraph) synced() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.mu.nodes {
		if n.state != unknown {
			continue
		}
		for e := n.dependents; e != nil; e = e.next {
			if g.mu.seen[g.mark(n.key, e.uid())] {
				g.thereLocked(n, e.uid(), nothing)
				break
			}
		}
		if n.state == unknown {
			g.todo.Add(n)
		}
	}
	g.mu.seen = nil
}

// thereLocked notes that the object at n exists with this UID, and what it waits for. It queues the
// dependents that ask for another UID, because their owner does not exist. If the object begins to
// wait, or waits for something else than before, thereLocked queues the object and all its
// dependents.
func (g *ownerGraph) thereLocked(n *node, uid identity, waits wait) {
	if n.state != present || n.uid != uid {
		n.state, n.uid, n.waits = present, uid, nothing
		for e := n.dependents; e != nil; e = e.next {
			if e.uid() != uid {
				g.todo.Add(e.dependent)
			}
		}
	}
	if n.waits == waits {
		return
	}
	if n.waits = waits; waits != nothing {
		g.todo.Add(n)
		g.addDependentsLocked(n)
	}
}

// goneLocked notes that the object at n is gone. It queues the dependents, and removes the
// references of the object, which then no longer hold its owners.
func (g *ownerGraph) goneLocked(n *node) {
	n.state, n.waits = absent, nothing
	n.set(0)
	g.addDependentsLocked(n)
	old := n.owners
	n.owners = nil
	g.unlinkLocked(old)
	delete(g.mu.loose, n)
	g.dropLocked(n)
}

func (g *ownerGraph) addDependentsLocked(n *node) {
	for e := n.dependents; e != nil; e = e.next {
		g.todo.Add(e.dependent)
	}
}

// nodeLocked returns the node of a key, and makes it if there is none.
func (g *ownerGraph) nodeLocked(key string) *node {
	n := g.mu.nodes[g.keyHash(key)]
	if n == nil {
		n = &node{key: key}
		g.mu.nodes[g.keyHash(key)] = n
	}
	return n
}

// dropLocked removes a node from the graph if its object has no references and no dependents, and
// waits for nothing.
func (g *ownerGraph) dropLocked(n *node) {
	if n.owners != nil || n.dependents != nil || n.waits != nothing {
		return
	}
	if _, isLoose := g.mu.loose[n]; !isLoose && g.mu.nodes[g.keyHash(n.key)] == n {
		delete(g.mu.nodes, g.keyHash(n.key))
		delete(g.mu.parked, n)
	}
}

// relinkLocked replaces the edges of n by edges for refs, unless n has exactly these already. If
// one of refs gets no edge, because its kind is not served, n becomes loose.
func (g *ownerGraph) relinkLocked(n *node, namespace string, refs []codec.OwnerRef) {
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
func (g *ownerGraph) linkedLocked(n *node, namespace string, refs []codec.OwnerRef) bool {
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

func (g *ownerGraph) pack(ref *codec.OwnerRef) identity {
	packed := g.identity(ref.UID)
	if ref.Blocks {
		packed |= 1
	}
	return packed
}

// linkLocked makes the edge for a reference of n. If it is unknown whether the owner exists,
// linkLocked queues the owner. If the owner is absent, has another UID, or waits, linkLocked queues
// n. It returns nil if the kind of the reference is not served.
func (g *ownerGraph) linkLocked(n *node, namespace string, ref *codec.OwnerRef) *edge {
	mapping, ok := g.resources.Mapping(ref.APIVersion, ref.Kind)
	if !ok {
		return nil
	}
	owner := g.nodeLocked(mapping.key(namespace, ref.Name))
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
			g.todo.Add(owner)
		}
	case owner.state == absent, owner.uid != e.uid(), owner.waits != nothing:
		g.todo.Add(n)
	}
	return e
}

// unlinkLocked removes the edges of one dependent, from first on, from the lists of their owners.
// It queues each owner that waits and that no dependent holds any longer.
func (g *ownerGraph) unlinkLocked(first *edge) {
	for e := first; e != nil; e = e.also {
		if e.next != nil {
			e.next.prev = e.prev
		}
		if e.prev != nil {
			e.prev.next = e.next
		} else {
			e.owner.dependents = e.next
		}
		if e.owner.waits != nothing && !e.owner.held() {
			g.todo.Add(e.owner)
		}
		g.dropLocked(e.owner)
	}
}

// held reports whether n waits for some dependent.
func (n *node) held() bool {
	if n.waits == nothing {
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
func (n *node) owns() bool {
	for e := n.dependents; e != nil; e = e.next {
		if e.uid() == n.uid {
			return true
		}
	}
	return false
}

// holdsItself reports whether n is in a circle of objects that wait for each other in the
// foreground. They would wait for ever, but garbageItem.unblock breaks the circle.
func (n *node) holdsItself() bool {
	seen := map[*node]bool{}
	var leads func(from *node) bool
	leads = func(from *node) bool {
		for e := from.dependents; e != nil; e = e.next {
			if d := e.dependent; e.holds() && d.waits == foreground && !seen[d] {
				if seen[d] = true; d == n || leads(d) {
					return true
				}
			}
		}
		return false
	}
	return n.waits == foreground && leads(n)
}

// outlook is what the graph knows about an object when a worker looks at it.
type outlook struct {
	waits       wait
	held        bool // it waits, and a dependent holds it
	holdsItself bool // it waits in a circle
	released    bool // one of its owners waits with the finalizer orphan until the object does not name it
	owns        bool // it has dependents
}

// has reports whether n is in the graph. A queued node may have been dropped since.
func (g *ownerGraph) has(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.nodes[g.keyHash(n.key)] == n
}

// look returns what the graph knows about the object at n. uid is the UID that a read of the object
// has just returned. If the graph knows another object at n, or that there is none, look returns a
// zero outlook. settle then does nothing that needs the graph, and n is queued for its newer state
// anyway.
func (g *ownerGraph) look(n *node, uid string) (o outlook) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.mu.parked, n)
	if n.state == unknown {
		g.thereLocked(n, g.identity(uid), nothing)
	}
	if n.state != present || n.uid != g.identity(uid) {
		return o
	}
	if n.waits != nothing {
		// The kind of n may have come a moment ago. Loose nodes with a reference to n have no edge
		// for it yet.
		g.relinkLooseLocked()
	}
	o = outlook{waits: n.waits, held: n.held(), holdsItself: n.holdsItself()}
	for e := n.owners; e != nil; e = e.also {
		o.released = o.released || e.owner.waits == orphaning && e.holds()
	}
	o.owns = n.owns()
	return o
}

// missing notes that a read has found no object at n. It changes only an unknown node: what the
// stream has said about a node may be newer than the read.
func (g *ownerGraph) missing(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.state == unknown {
		n.state = absent
		g.addDependentsLocked(n)
	}
}

// found takes in the result of a read from another server: live, or err if the read failed. An
// error that does not say that the object is absent changes nothing. found reports whether n has
// dependents.
func (g *ownerGraph) found(n *node, live *meta.PartialObjectMetadata, err error) (owns bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.thereLocked(n, g.identity(string(live.UID)), isWaiting(live))
	case isAbsent(err) && n.state == present:
		g.goneLocked(n)
	}
	return n.dependents != nil
}

// isGone reports whether the graph knows that the object with this UID at key is gone. A UID never
// comes back, so the answer true stays true.
func (g *ownerGraph) isGone(key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.mu.nodes[g.keyHash(key)]
	return n != nil && n.state == absent && n.uid != 0 && n.uid == g.identity(uid)
}

// lacks notes that a read has found no object with this UID at key. If the node is absent and has
// no UID yet, isGone returns true for the UID from then on. That is safe, because no object that is
// created later gets this UID.
func (g *ownerGraph) lacks(key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.keyHash(key)]; n != nil && n.state == absent && n.uid == 0 {
		n.uid = g.identity(uid)
	}
}

// park puts n off until resources come or go. reconsider queues it then.
func (g *ownerGraph) park(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.nodes[g.keyHash(n.key)] == n {
		g.mu.parked[n] = true
	}
}

// reconsider links the loose nodes again and queues the parked nodes. It is called after resources
// have come or gone.
func (g *ownerGraph) reconsider() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.relinkLooseLocked()
	for n := range g.mu.parked {
		g.todo.Add(n)
	}
	clear(g.mu.parked)
}

func (g *ownerGraph) relinkLooseLocked() {
	for n, l := range maps.Clone(g.mu.loose) {
		g.relinkLocked(n, l.namespace, l.refs)
	}
}
