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
// the workers. follow (garbage.go) feeds it from the store, and remotes (garbageremote.go) from
// other servers. garbageknown.go has its answer for the fast path.

// ownerGraph holds the references among objects, and queues the objects that are worth a look. It
// decides nothing: a worker asks the server before it acts, or names the revision that the graph
// has seen.
//
// A node is a place for one object, named by the object's key. A key has a node if its object has
// ownerReferences or waits for its dependents, or if some reference names the key; all other
// objects cost nothing. An edge is one reference, from a dependent to the node that it names. The
// edge has the UID that the reference asks for. If the object at the node has another UID, the
// owner does not exist.
//
// Example: ReplicaSet r, Pod p with a reference to r. Each has a node, and one edge goes from p to
// r. When r is deleted, the Stream shows it; goneLocked marks r absent and queues p. A worker finds
// no owner of p and deletes p. The Stream shows that as well; the edge goes, and with it both
// nodes.
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
		// nodes are found by the hash of their key, which takes less memory than the key. If two
		// keys have the same hash, which happens in one process of a million, workers look at
		// objects for nothing: the graph decides nothing.
		nodes map[uint64]*node
		// loose are the nodes with a reference to a kind that is not served at present, with copies
		// of all their references. reconsider links them again.
		loose map[*node]looseRefs
		// parked are nodes that workers put off until resources come or go.
		parked map[*node]bool
		// seen has the mark of each object that the scan has shown; nil from synced on. It says
		// whether an owner without a node of its own exists.
		seen map[uint64]bool
	}
}

// node is a place for an object: the object may exist or not.
type node struct {
	key        string
	uid        identity // of the object that is there, or of the last one that was; 0: none was seen
	owners     *edge    // the references of the object, in order, linked by edge.also
	dependents *edge    // the references to this node, the newest first, linked by next and prev
	status
}

// status is packed into 8 bytes, as a store may have a million nodes.
type status struct {
	rev   [6]byte // revision of a plain object, little endian, else 0; 48 bits are enough for ever
	state presence
	waits wait
}

// set stores the revision of a plain object, or 0 for any other object; see ownerGraph.plain.
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

// wait is what an object that is being deleted waits for before the collector lets it go.
type wait uint8

const (
	nothing    wait = iota // it is not being deleted, or has no finalizer of the collector
	foreground             // until its dependents with blockOwnerDeletion are gone
	orphaning              // until no dependent names it
)

// finalizer returns the finalizer that keeps an object that waits. w is not nothing.
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

// holds reports whether the dependent of e is something that the owner of e waits for.
func (e *edge) holds() bool {
	return e.uid() == e.owner.uid && (e.owner.waits == orphaning || e.owner.waits == foreground && e.blocks())
}

// looseRefs are all references of an object, copied, to be linked again when resources have come.
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

// apply takes in the present value at a key with its revision; value is nil if the object is gone.
// If the value cannot be decoded, its references are not known, so the node stays as it was.
func (g *ownerGraph) apply(key string, value []byte, rev uint64) {
	if value != nil && codec.PeekOwners(value, &g.peek) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if value != nil {
		g.takeLocked(key, &g.peek, rev)
	} else if n := g.mu.nodes[g.keyHash(key)]; n != nil {
		g.goneLocked(n)
	}
}

// takeLocked takes in the state of an object. rev is 0 for an object on another server. It stores
// the revision only of a plain object, which the fast path may write without a read.
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

// synced ends the scan. A node whose object was not shown with a reference or a finalizer is
// unknown until then. If seen has the UID that one of its dependents asks for, the object is
// present; otherwise a worker looks.
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

// thereLocked notes that the object at n has this UID and waits so. It queues the dependents that
// ask for another UID, as that owner does not exist. If the object begins to wait, or waits for
// something else, thereLocked queues the object and all its dependents.
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

// goneLocked notes that the object at n is gone: its dependents are queued, and its references no
// longer hold its owners.
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

// relinkLocked replaces the edges of n by edges for refs, unless it has just those. If one of refs
// has no edge, because its kind is not served, n is loose.
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
	g.unlinkLocked(old) // after the new edges are there: otherwise an owner with both would be dropped
}

// cloneRefs copies references with their text. The text of refs is part of a stored value, which it
// would keep in memory.
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

// linkedLocked reports whether n's edges are for these references, in this order. It allocates
// nothing: most changes of an object do not touch its references.
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

// linkLocked makes the edge for a reference and queues the node that is worth a look because of it:
// the owner if nobody knows whether it exists, n if the owner is gone, is another or waits. It
// returns nil if the kind of the reference is not served.
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

// unlinkLocked removes a list of edges of one dependent from their owners. It queues each owner
// that waits and that no dependent holds.
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

// held reports whether n waits and some dependent is something that it waits for.
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

// owns reports whether some reference means the object at n, by its UID.
func (n *node) owns() bool {
	for e := n.dependents; e != nil; e = e.next {
		if e.uid() == n.uid {
			return true
		}
	}
	return false
}

// holdsItself reports whether n is in a circle of objects that wait for each other in the
// foreground. Without help they would wait for ever: unblock breaks the circle.
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
	released    bool // one of its owners waits with the finalizer orphan
	owns        bool // it has dependents
}

// has reports whether n is in the graph. A queued node may have been dropped since.
func (g *ownerGraph) has(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.nodes[g.keyHash(n.key)] == n
}

// look returns what the graph knows about the object at n, which a read has just returned with this
// UID. If the stream has shown another object at n, or none, look returns a zero outlook: then
// settle does nothing that needs the graph, and the newer state is queued anyway.
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
		// The kind of n may have come a moment ago, and loose nodes that name n have no edge yet.
		g.relinkLooseLocked()
	}
	o = outlook{waits: n.waits, held: n.held(), holdsItself: n.holdsItself()}
	for e := n.owners; e != nil; e = e.also {
		o.released = o.released || e.owner.waits == orphaning && e.holds()
	}
	o.owns = n.owns()
	return o
}

// missing notes that a read has found no object at n. If the stream has said something about n,
// that is newer and counts.
func (g *ownerGraph) missing(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.state == unknown {
		n.state = absent
		g.addDependentsLocked(n)
	}
}

// found takes in the result of a read at another server: live if err is nil. An error that does not
// say that the object is absent changes nothing. found reports whether n has dependents.
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

// isGone reports whether the graph has seen that the owner with this UID is gone. A UID never comes
// back, so that stays true.
func (g *ownerGraph) isGone(key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.mu.nodes[g.keyHash(key)]
	return n != nil && n.state == absent && n.uid != 0 && n.uid == g.identity(uid)
}

// lacks notes that a read has found no object with this UID at key: isGone answers for it from then
// on. A UID is never given to an object that is created later.
func (g *ownerGraph) lacks(key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.keyHash(key)]; n != nil && n.state == absent && n.uid == 0 {
		n.uid = g.identity(uid)
	}
}

// park puts n off until resources come or go: reconsider queues it then.
func (g *ownerGraph) park(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.nodes[g.keyHash(n.key)] == n {
		g.mu.parked[n] = true
	}
}

// reconsider links the loose nodes again and queues the parked ones, after resources came or went.
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
