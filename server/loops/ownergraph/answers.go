package ownergraph

import "github.com/coracle-project/coracle/scheme/meta"

// This file has what the graph answers to workers, and what it learns from their reads.

// Outlook is what the graph knows about an object when a worker looks at it.
type Outlook struct {
	Waits       Wait
	Held        bool // it waits, and a dependent holds it
	HoldsItself bool // it waits in a circle
	Released    bool // one of its owners waits with the finalizer orphan until the object does not name it
	Owns        bool // it has dependents
}

// Has reports whether n is in the graph. A queued node may have been dropped since.
func (g *Graph) Has(n *Node) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.nodes[g.keyHash(n.key)] == n
}

// Look returns what the graph knows about the object at n. uid is the UID that a read of the object
// has just returned. If the graph knows another object at n, or that there is none, Look returns a
// zero Outlook. The worker then does nothing that needs the graph, and n is queued for its newer
// state anyway.
func (g *Graph) Look(n *Node, uid string) (o Outlook) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.mu.parked, n)
	if n.state == unknown {
		g.thereLocked(n, g.Identity(uid), Nothing)
	}
	if n.state != present || n.uid != g.Identity(uid) {
		return o
	}
	if n.waits != Nothing {
		// The kind of n may have come a moment ago. Loose nodes with a reference to n have no edge
		// for it yet.
		g.relinkLooseLocked()
	}
	o = Outlook{Waits: n.waits, Held: n.held(), HoldsItself: n.holdsItself()}
	for e := n.owners; e != nil; e = e.also {
		o.Released = o.Released || e.owner.waits == Orphaning && e.holds()
	}
	o.Owns = n.owns()
	return o
}

// Missing notes that a read has found no object at n. It changes only an unknown node: what the
// stream has said about a node may be newer than the read.
func (g *Graph) Missing(n *Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n.state == unknown {
		n.state = absent
		g.addDependentsLocked(n)
	}
}

// Found takes in the result of a read from another server: live, or nil if the read failed. gone
// says that the read has found no object. A read that has failed for another reason changes
// nothing. Found reports whether n has dependents.
func (g *Graph) Found(n *Node, live *meta.PartialObjectMetadata, gone bool) (owns bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case live != nil:
		g.thereLocked(n, g.Identity(string(live.UID)), WaitOf(live))
	case gone && n.state == present:
		g.goneLocked(n)
	}
	return n.dependents != nil
}

// IsGone reports whether the graph knows that the object with this UID at key is gone. A UID never
// comes back, so the answer true stays true.
func (g *Graph) IsGone(key, uid string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.mu.nodes[g.keyHash(key)]
	return n != nil && n.state == absent && n.uid != 0 && n.uid == g.Identity(uid)
}

// Lacks notes that a read has found no object with this UID at key. If the node is absent and has
// no UID yet, IsGone returns true for the UID from then on. That is safe, because no object that is
// created later gets this UID.
func (g *Graph) Lacks(key, uid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.mu.nodes[g.keyHash(key)]; n != nil && n.state == absent && n.uid == 0 {
		n.uid = g.Identity(uid)
	}
}

// PlainObject is what the graph knows of a plain object: enough to decide about it without a read.
// An object is plain if nobody has deleted it, it has no finalizer of the collector, it has
// references, all of them have edges, and each owner is gone or waits.
type PlainObject struct {
	Rev     uint64         // the revision that the graph has seen; 0: the object is not plain
	Owns    bool           // it has dependents
	Waiting []WaitingOwner // its owners that wait; its other owners are gone
}

// WaitingOwner is an owner that waits for its dependents, as the graph has seen it.
type WaitingOwner struct {
	Key   string
	UID   Identity
	Waits Wait
}

// Plain returns what the graph knows of the object at n, or a PlainObject without a revision if the
// object is not plain.
func (g *Graph) Plain(n *Node) (k PlainObject) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, isLoose := g.mu.loose[n]; isLoose || n.owners == nil || n.state != present {
		return PlainObject{}
	}
	for e := n.owners; e != nil; e = e.also {
		switch o := e.owner; {
		case o.uid != e.uid(), o.state == unknown, o.state == present && o.waits == Nothing:
			return PlainObject{}
		case o.state == present:
			k.Waiting = append(k.Waiting, WaitingOwner{o.key, o.uid, o.waits})
		}
	}
	k.Rev, k.Owns = n.get(), n.owns()
	return k
}
