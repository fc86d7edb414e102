package ownership_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
)

// modelObject is an object of a random graph.
type modelObject struct {
	kind, namespace, name string
	uid                   meta.UID
	refs                  []meta.OwnerReference
	policy                meta.DeletionPropagation // the policy of its deletion; "" if it is not deleted
	held                  bool                     // by a finalizer that the test removes at the end
}

// modelGraph has objects by UID.
type modelGraph map[meta.UID]*modelObject

// Kinds of random graphs.
const (
	modelNode    = "Node"   // cluster-scoped
	modelBoat    = "Boat"   // its resource is installed and removed
	modelUnheard = "Banana" // no resource has this kind
)

func modelVersion(kind string) string {
	switch kind {
	case modelBoat:
		return boatVersion
	case modelUnheard:
		return "fruit.example.com/v1"
	}
	return "v1"
}

// randomGraph returns a graph of objects whose names begin with a prefix. Some have been deleted,
// with each policy. Many refer to each other, with each mistake that a reference can have.
func randomGraph(r *rand.Rand, prefix string) modelGraph {
	g := modelGraph{}
	var list []*modelObject
	for i := range 6 + r.IntN(20) {
		o := &modelObject{kind: "ConfigMap", namespace: []string{"n", "n", "m"}[r.IntN(3)], name: fmt.Sprintf("%s-%d", prefix, i)}
		switch r.IntN(8) {
		case 0:
			o.kind, o.namespace = modelNode, ""
		case 1, 2:
			o.kind = "Secret"
		case 3:
			o.kind = modelBoat
		}
		o.uid = meta.UID("uid-" + o.name)
		o.held = r.IntN(6) == 0
		if r.IntN(4) == 0 {
			o.policy = []meta.DeletionPropagation{
				meta.DeletePropagationForeground, meta.DeletePropagationForeground, meta.DeletePropagationOrphan, meta.DeletePropagationBackground,
			}[r.IntN(4)]
		}
		list = append(list, o)
		g[o.uid] = o
	}
	for i, o := range list {
		for range []int{0, 1, 1, 1, 2, 3}[r.IntN(6)] {
			at := r.IntN(len(list))
			if r.IntN(4) > 0 && i > 0 { // in most cases no cycle
				at = r.IntN(i)
			}
			o.refer(r, list[at])
		}
	}
	for uid, o := range g {
		if o.policy == meta.DeletePropagationBackground && !o.held {
			delete(g, uid) // nothing holds it
		}
	}
	return g
}

// refer adds a reference to an owner, or one with a mistake.
func (o *modelObject) refer(r *rand.Rand, owner *modelObject) {
	ref := meta.OwnerReference{APIVersion: modelVersion(owner.kind), Kind: owner.kind, Name: owner.name, UID: owner.uid}
	if r.IntN(2) == 0 {
		yes := true
		ref.BlockOwnerDeletion = &yes
	}
	switch r.IntN(24) {
	case 0:
		ref.UID = meta.UID(fmt.Sprint("another-", r.IntN(1000)))
	case 1:
		ref.Kind, ref.APIVersion = "Secret", "v1"
	case 2:
		ref.Name = "never-there"
	case 3:
		ref.Kind, ref.APIVersion = modelUnheard, modelVersion(modelUnheard)
	}
	if !slices.ContainsFunc(o.refs, func(other meta.OwnerReference) bool { return other.UID == ref.UID }) {
		o.refs = append(o.refs, ref)
	}
}

// owner returns the owner that a reference of o names; nil if it does not exist. lost reports that
// nobody can know whether it exists.
func (g modelGraph) owner(o *modelObject, ref *meta.OwnerReference) (owner *modelObject, lost bool) {
	namespaced := ref.Kind != modelNode
	if ref.Kind == modelUnheard || namespaced && o.namespace == "" {
		return nil, true
	}
	owner = g[ref.UID]
	if owner == nil || owner.kind != ref.Kind || owner.name != ref.Name || namespaced && owner.namespace != o.namespace {
		return nil, false
	}
	return owner, false
}

// settle repeats the steps of the collector until nothing changes. Some results depend on the order
// of steps: dependents may forget an owner before or after their other owners are deleted, and an
// owner without blocking dependents may be deleted before or after its dependents are deleted in
// the foreground. With eager, an object is deleted if any order deletes it; without, only if every
// order does.
func (g modelGraph) settle(eager bool) {
	for changed := true; changed; {
		forgets := func() bool { return g.each(func(o *modelObject) bool { return g.forget(o, eager) }) }
		rest := func() bool {
			return g.each(func(o *modelObject) bool { return g.collect(o, eager) }) || g.each(func(o *modelObject) bool { return g.finish(o, eager) })
		}
		if eager {
			changed = forgets() || rest()
		} else {
			changed = rest() || forgets()
		}
	}
}

// each applies step to all objects and reports whether any has changed.
func (g modelGraph) each(step func(o *modelObject) bool) (changed bool) {
	for _, uid := range slices.Sorted(keysOf(g)) {
		if o := g[uid]; o != nil && step(o) {
			changed = true
		}
	}
	return changed
}

func keysOf(g modelGraph) func(func(meta.UID) bool) {
	return func(yield func(meta.UID) bool) {
		for uid := range g {
			if !yield(uid) {
				return
			}
		}
	}
}

// modelOwners has the number of owners of an object in each state.
type modelOwners struct{ solid, others, waiting, released, lost int }

func (g modelGraph) classify(o *modelObject) (found modelOwners) {
	for i := range o.refs {
		switch owner, lost := g.owner(o, &o.refs[i]); {
		case lost:
			found.lost++
		case owner == nil:
			found.others++
		case owner.policy == meta.DeletePropagationForeground:
			found.waiting++
		case owner.policy == meta.DeletePropagationOrphan:
			found.released++
		default:
			found.solid++
		}
	}
	return found
}

// drop removes the references of o that which selects, and reports whether there were any.
func (g modelGraph) drop(o *modelObject, which func(owner *modelObject, blocks bool) bool) bool {
	before := len(o.refs)
	o.refs = slices.DeleteFunc(slices.Clone(o.refs), func(ref meta.OwnerReference) bool {
		owner, lost := g.owner(o, &ref)
		return !lost && which(owner, ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion)
	})
	return len(o.refs) < before
}

// forget removes references to owners that are being orphaned, together with those to owners that
// do not exist.
func (g modelGraph) forget(o *modelObject, eager bool) bool {
	found := g.classify(o)
	if eager && slices.ContainsFunc(o.refs, func(ref meta.OwnerReference) bool { return ref.Kind == modelBoat }) {
		found.lost++
	}
	if found.released == 0 {
		return false
	}
	return g.drop(o, func(owner *modelObject, blocks bool) bool {
		if o.policy != "" || found.lost > 0 {
			return owner != nil && owner.policy == meta.DeletePropagationOrphan
		}
		if eager && owner != nil && owner.policy == meta.DeletePropagationForeground && owner.held && !blocks {
			return false
		}
		return owner == nil || owner.policy == meta.DeletePropagationOrphan || owner.policy == meta.DeletePropagationForeground
	})
}

// collect removes references to owners that do not exist, or deletes the object if it has no other.
func (g modelGraph) collect(o *modelObject, eager bool) bool {
	found := g.classify(o)
	switch {
	case o.policy != "" || found.lost > 0 || found.released > 0 || found.others+found.waiting == 0:
		return false
	case found.solid > 0:
		return g.drop(o, func(owner *modelObject, _ bool) bool {
			return owner == nil || owner.policy == meta.DeletePropagationForeground
		})
	}
	o.policy = meta.DeletePropagationBackground
	blocks := slices.ContainsFunc(o.refs, func(ref meta.OwnerReference) bool {
		owner, _ := g.owner(o, &ref)
		return owner != nil && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
	})
	if found.waiting > 0 && len(g.dependents(o)) > 0 && (blocks || !eager) {
		o.policy = meta.DeletePropagationForeground
	}
	return true
}

func (g modelGraph) dependents(o *modelObject) (list []*modelObject) {
	for _, d := range g {
		for i := range d.refs {
			if owner, _ := g.owner(d, &d.refs[i]); owner == o {
				list = append(list, d)
			}
		}
	}
	return list
}

// finish removes an object that is being deleted, unless it waits for one that stays.
func (g modelGraph) finish(o *modelObject, eager bool) bool {
	switch o.policy {
	case "":
		return false
	case meta.DeletePropagationOrphan:
		if len(g.dependents(o)) > 0 {
			return false
		}
	case meta.DeletePropagationForeground:
		if g.stuck(o, eager, map[*modelObject]bool{}) {
			return false
		}
	}
	delete(g, o.uid)
	return true
}

// stuck reports whether an object stays for ever: it is not deleted, or it waits in the foreground
// for a blocking dependent that stays. In a cycle of objects that wait for each other, any of them
// may be the one that stops blocking. With eager, all of them stop.
func (g modelGraph) stuck(o *modelObject, eager bool, seen map[*modelObject]bool) bool {
	if o.policy == "" {
		return true // as long as it is not deleted; finish is called again
	}
	if o.policy != meta.DeletePropagationForeground || seen[o] {
		return false
	}
	seen[o] = true
	for _, d := range g.dependents(o) {
		blocks := slices.ContainsFunc(d.refs, func(ref meta.OwnerReference) bool {
			return ref.UID == o.uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
		})
		if eager && d.policy == meta.DeletePropagationForeground && g.leads(d, o, map[*modelObject]bool{}) {
			continue
		}
		if blocks && g.stuck(d, eager, seen) {
			return true
		}
	}
	return false
}

// leads reports whether to is a dependent of from, directly or through others.
func (g modelGraph) leads(from, to *modelObject, seen map[*modelObject]bool) bool {
	for _, d := range g.dependents(from) {
		if d == to {
			return true
		}
		if !seen[d] {
			if seen[d] = true; g.leads(d, to, seen) {
				return true
			}
		}
	}
	return false
}

// clone copies a graph.
func (g modelGraph) clone() modelGraph {
	c := modelGraph{}
	for uid, o := range g {
		copied := *o
		copied.refs = slices.Clone(o.refs)
		c[uid] = &copied
	}
	return c
}

// String returns the owners and the state of an object, for messages.
func (o *modelObject) String() string {
	if o == nil {
		return "gone"
	}
	var uids []meta.UID
	for _, ref := range o.refs {
		uids = append(uids, ref.UID)
	}
	slices.Sort(uids)
	return fmt.Sprint(uids)
}
