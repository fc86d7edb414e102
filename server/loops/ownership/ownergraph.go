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

// ownerGraph is who depends on whom among the objects of a store. It is built from what is stored
// and follows it, change by change, and says who is worth a look; it decides nothing: whoever looks
// asks the server what is true.
//
// A node is a place, named by the key of the store where an object is or should be. There is one
// for each object that has owners or is held by a finalizer of the collector, and for each place
// that a reference names; whoever neither owns nor is owned costs nothing. An edge is one
// reference. It names the owner's uid as well, which the object at that place has, or has not: then
// there is no such owner.
//
// The nodes that are worth a look are in todo. The stream of changes calls apply, in order, and
// synced once; workers call the rest.
type ownerGraph struct {
	resources Resources
	todo      *controller.Queue[*node]
	seed      maphash.Seed
	peek      codec.Ownership // of the change in hand

	mu struct {
		sync.Mutex
		// nodes are found by the hash of their key, which takes less room. If two had the same, in
		// a process in a million, what is looked at would be looked at for nothing: the graph
		// decides nothing.
		nodes map[uint64]*node
		// loose are the objects with references that lead nowhere, because no resource has such a
		// kind now.
		loose map[*node]looseRefs
		// parked are nodes that wait for resources to come or go.
		parked map[*node]bool
		// seen are the objects that were there when the stream began, each by its key and uid; nil
		// from synced on.
		seen map[uint64]bool
	}
}

// node is a place for an object.
type node struct {
	key        string
	uid        identity // of the object that is there or, if it is gone, that was
	owners     *edge    // its references, in order
	dependents *edge    // the references to it
	status
}

// status is packed, as there may be many nodes.
type status struct {
	rev   [6]byte // of the object that is there, little endian: enough for all revisions there will ever be
	state presence
	waits wait
}

// set notes the revision of a plain object; 0 of others: see ownerGraph.known.
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

// identity is a hash of a uid. Its lowest bit is 0.
type identity uint64

// presence is what is known about the object of a node.
type presence uint8

const (
	unknown presence = iota // nobody has looked
	present
	absent
)

// wait is what an object that is being deleted waits for.
type wait uint8

const (
	nothing    wait = iota
	foreground      // for those who depend on it to go, as far as they block it
	orphaning       // for those who depend on it to forget it
)

// finalizer is what keeps an object that waits.
func (w wait) finalizer() string {
	if w == orphaning {
		return meta.FinalizerOrphanDependents
	}
	return meta.FinalizerDeleteDependents
}

// waitOf says what an object waits for.
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

// ofCollector reports whether a finalizer is one that the collector works on.
func ofCollector(finalizer string) bool {
	return finalizer == meta.FinalizerOrphanDependents || finalizer == meta.FinalizerDeleteDependents
}

// edge is one reference.
type edge struct {
	owner, dependent *node
	next, prev       *edge    // among the owner's dependents
	also             *edge    // the dependent's next reference
	packed           identity // of the owner that is meant; the lowest bit says that the reference blocks its deletion
}

func (e *edge) uid() identity { return e.packed &^ 1 }
func (e *edge) blocks() bool  { return e.packed&1 != 0 }

// holds reports whether e keeps its owner from what it waits for.
func (e *edge) holds() bool {
	return e.uid() == e.owner.uid && (e.owner.waits == orphaning || e.owner.waits == foreground && e.blocks())
}

// looseRefs are references that are to be looked up again.
type looseRefs struct {
	namespace string
	refs      []codec.OwnerRef
}

func newOwnerGraph(resources Resources) *ownerGraph {
	g := &ownerGraph{resources: resources, todo: controller.NewQueue[*node](), seed: maphash.MakeSeed()}
	g.mu.nodes, g.mu.loose, g.mu.parked, g.mu.seen = map[uint64]*node{}, map[*node]looseRefs{}, map[*node]bool{}, map[uint64]bool{}
	return g
}

func (g *ownerGraph) identity(uid string) identity { return identity(maphash.String(g.seed, uid) &^ 1) }

func (g *ownerGraph) place(key string) uint64 { return maphash.String(g.seed, key) }

// mark stands for an object at a place.
func (g *ownerGraph) mark(key string, uid identity) uint64 { return g.place(key) ^ uint64(uid) }

// apply takes in the present value at a key, with its revision; nil if it is gone. Of what cannot
// be read nobody knows whose it is: it is left as it was.
func (g *ownerGraph) apply(key string, value []byte, rev uint64) {
	if value != nil && codec.PeekOwners(value, &g.peek) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if value != nil {
		g.takeLocked(key, &g.peek, rev)
	} else if n := g.mu.nodes[g.place(key)]; n != nil {
		g.goneLocked(n)
	}
}

// takeLocked takes in an object, with its revision; 0 for one that another server keeps.
func (g *ownerGraph) takeLocked(key string, obj *codec.Ownership, rev uint64) {
	n := g.mu.nodes[g.place(key)]
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

// synced ends the scan: from now on, whoever has not been seen is not there, unless it came later.
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

// thereLocked notes which object is at n. Those who mean another are worth a look, and so are all
// who depend on one that begins to wait for them.
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

// goneLocked notes that the object at n is gone.
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

func (g *ownerGraph) nodeLocked(key string) *node {
	n := g.mu.nodes[g.place(key)]
	if n == nil {
		n = &node{key: key}
		g.mu.nodes[g.place(key)] = n
	}
	return n
}

// dropLocked forgets a node that is of no use.
func (g *ownerGraph) dropLocked(n *node) {
	if n.owners != nil || n.dependents != nil || n.waits != nothing {
		return
	}
	if _, isLoose := g.mu.loose[n]; !isLoose && g.mu.nodes[g.place(n.key)] == n {
		delete(g.mu.nodes, g.place(n.key))
		delete(g.mu.parked, n)
	}
}

// relinkLocked gives n the edges for its references, unless it has them.
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
	g.unlinkLocked(old) // after the new ones, so that their owners are not forgotten in between
}

// cloneRefs copies references together with their text, which is part of a stored value.
func cloneRefs(refs []codec.OwnerRef) []codec.OwnerRef {
	refs = slices.Clone(refs)
	for i, r := range refs {
		refs[i] = codec.OwnerRef{APIVersion: strings.Clone(r.APIVersion), Kind: strings.Clone(r.Kind), Name: strings.Clone(r.Name),
			UID: strings.Clone(r.UID), Blocks: r.Blocks}
	}
	return refs
}

// linkedLocked reports whether n's edges are for these references. It allocates nothing.
func (g *ownerGraph) linkedLocked(n *node, namespace string, refs []codec.OwnerRef) bool {
	e := n.owners
	for i := range refs {
		if e == nil || e.packed != g.pack(&refs[i]) {
			return false
		}
		home, ok := g.resources.Home(refs[i].APIVersion, refs[i].Kind)
		if !ok || !home.has(e.owner.key, namespace, refs[i].Name) {
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

// linkLocked makes the edge for a reference; nil if it leads nowhere.
func (g *ownerGraph) linkLocked(n *node, namespace string, ref *codec.OwnerRef) *edge {
	home, ok := g.resources.Home(ref.APIVersion, ref.Kind)
	if !ok {
		return nil
	}
	owner := g.nodeLocked(home.key(namespace, ref.Name))
	if home.Namespaced && namespace == "" {
		owner.state = absent // an object of the whole cluster has no owner in a namespace
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

// unlinkLocked takes away the edges of a dependent, from the first one on. An owner that nothing
// holds any more is worth a look.
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

// held reports whether any dependent keeps n from what it waits for.
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

// owns reports whether there are objects that depend on the one at n.
func (n *node) owns() bool {
	for e := n.dependents; e != nil; e = e.next {
		if e.uid() == n.uid {
			return true
		}
	}
	return false
}

// holdsItself reports whether n waits for some that wait for n: they would wait for ever.
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

// outlook is what the graph knows about an object.
type outlook struct {
	waits       wait
	held        bool // by others, while it waits
	holdsItself bool // they wait for it in turn
	released    bool // one of its owners waits to be forgotten
	owns        bool // there are objects that depend on it
}

// has reports whether a node is in the graph still.
func (g *ownerGraph) has(n *node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.nodes[g.place(n.key)] == n
}

// look returns what is known about an object that the server has just now at n; nothing if the
// stream has shown that another one is there by now, or none.
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
		g.relinkLooseLocked() // its resource may have come just now, and those who mean it were not told yet
	}
	o = outlook{waits: n.waits, held: n.held(), holdsItself: n.holdsItself()}
	for e := n.owners; e != nil; e = e.also {
		o.released = o.released || e.owner.waits == orphaning && e.holds()
	}
	o.owns = n.owns()
	return o
}

// missing notes that the server has no object at n. What the stream has shown meanwhile is newer.
func (g *ownerGraph) missing(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.state == unknown {
		n.state = absent
		g.addDependentsLocked(n)
	}
}

// found takes in what another server has at n now. An error that is not about the object says
// nothing. It reports whether anything depends on n.
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

// isGone reports whether an owner is known to be gone. A uid never comes back.
func (g *ownerGraph) isGone(key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.mu.nodes[g.place(key)]
	return n != nil && n.state == absent && n.uid != 0 && n.uid == g.identity(uid)
}

// lacks notes that an owner is not where it is said to be. It will not be there later either.
func (g *ownerGraph) lacks(key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.place(key)]; n != nil && n.state == absent && n.uid == 0 {
		n.uid = g.identity(uid)
	}
}

// park puts n off until resources come or go.
func (g *ownerGraph) park(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.nodes[g.place(n.key)] == n {
		g.mu.parked[n] = true
	}
}

// reconsider looks again at what no resource was there for.
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
