package authz

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// NodeGraph knows what each node has to do with: the pods that are bound to it, and what these need. It is told of objects as they
// come, change and go, and keeps of each a few words: of a pod 800 bytes at most, if it refers to five others. What
// several refer to has its name once. All methods may be called at once.
type NodeGraph struct {
	// Took, if set, is told how long a change has taken. It must not block.
	Took func(operation string, d time.Duration)

	mu    sync.RWMutex
	nodes map[string]*node
	// owners are the objects that say themselves to which node they belong.
	owners map[vertex]owner
	// volumes are the persistent volumes that belong to a claim, bound those of each claim.
	volumes map[vertex]volume
	bound   map[vertex][]vertex
}

// node is one that something belongs to.
type node struct {
	name string
	uses map[vertex]uint32 // by how many of its owners
}

// owner is a pod, a volume attachment or a resource slice. It is one of what it uses.
type owner struct {
	node *node
	uses []vertex
}

type volume struct {
	claim   vertex
	secrets []vertex
}

// vertex is an object's name, kept once.
type vertex = unique.Handle[thing]

type thing struct {
	sort            sort
	namespace, name string
}

// sort is a resource, as far as the graph knows it.
type sort uint8

const (
	podSort sort = iota
	secretSort
	configMapSort
	claimSort // persistent volume claims
	volumeSort
	serviceAccountSort
	resourceClaimSort
	attachmentSort
	sliceSort
)

func at(s sort, namespace, name string) vertex { return unique.Make(thing{s, namespace, name}) }

// NewNodeGraph returns an empty NodeGraph.
func NewNodeGraph() *NodeGraph {
	return &NodeGraph{
		nodes: map[string]*node{}, owners: map[vertex]owner{}, volumes: map[vertex]volume{}, bound: map[vertex][]vertex{},
	}
}

// SetPod takes in a pod as it is now. One that is bound to no node counts for nothing, and one that mirrors a static pod
// for itself alone: what that needs, its node has.
func (g *NodeGraph) SetPod(pod *corev1.Pod) {
	defer g.took("AddPod", time.Now())
	uses := []vertex{at(podSort, pod.Namespace, pod.Name)}
	if _, mirror := pod.Annotations[mirrorAnnotation]; !mirror {
		uses = append(uses, podNeeds(pod)...)
	}
	g.setOwner(pod.Spec.NodeName, uses)
}

// DeletePod forgets a pod.
func (g *NodeGraph) DeletePod(namespace, name string) {
	defer g.took("DeletePod", time.Now())
	g.setOwner("", []vertex{at(podSort, namespace, name)})
}

// SetAttachment takes in a volume attachment and its node; without one it is forgotten.
func (g *NodeGraph) SetAttachment(name, nodeName string) {
	defer g.took("AddVolumeAttachment", time.Now())
	g.setOwner(nodeName, []vertex{at(attachmentSort, "", name)})
}

// SetSlice takes in a resource slice and its node; without one it is forgotten.
func (g *NodeGraph) SetSlice(name, nodeName string) {
	defer g.took("AddResourceSlice", time.Now())
	g.setOwner(nodeName, []vertex{at(sliceSort, "", name)})
}

// SetVolume takes in a persistent volume: who may see its claim may see it, and the secrets that a kubelet needs for it.
func (g *NodeGraph) SetVolume(pv *corev1.PersistentVolume) {
	defer g.took("AddPV", time.Now())
	v := at(volumeSort, "", pv.Name)
	if pv.Spec.ClaimRef == nil {
		g.setVolume(v, nil)
		return
	}
	g.setVolume(v, &volume{at(claimSort, pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name), volumeNeeds(pv)})
}

// DeleteVolume forgets a persistent volume.
func (g *NodeGraph) DeleteVolume(name string) {
	defer g.took("DeletePV", time.Now())
	g.setVolume(at(volumeSort, "", name), nil)
}

func (g *NodeGraph) took(operation string, begun time.Time) {
	if g.Took != nil {
		g.Took(operation, time.Since(begun))
	}
}

// setOwner puts the first of uses, with the rest of them, on a node, and nowhere else; with "" nowhere.
func (g *NodeGraph) setOwner(nodeName string, uses []vertex) {
	g.mu.Lock()
	defer g.mu.Unlock()
	self := uses[0]
	if old, ok := g.owners[self]; ok {
		g.leaveLocked(old)
		delete(g.owners, self)
	}
	if nodeName == "" {
		return
	}
	n := g.nodes[nodeName]
	if n == nil {
		n = &node{strings.Clone(nodeName), map[vertex]uint32{}}
		g.nodes[n.name] = n
	}
	for _, u := range uses {
		n.uses[u]++
	}
	g.owners[self] = owner{n, slices.Clip(uses)}
}

func (g *NodeGraph) leaveLocked(o owner) {
	for _, u := range o.uses {
		if o.node.uses[u]--; o.node.uses[u] == 0 {
			delete(o.node.uses, u)
		}
	}
	if len(o.node.uses) == 0 {
		delete(g.nodes, o.node.name)
	}
}

// setVolume replaces what is known of a volume; nil forgets it.
func (g *NodeGraph) setVolume(self vertex, v *volume) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old, ok := g.volumes[self]; ok {
		delete(g.volumes, self)
		rest := slices.DeleteFunc(g.bound[old.claim], func(other vertex) bool { return other == self })
		if g.bound[old.claim] = rest; len(rest) == 0 {
			delete(g.bound, old.claim)
		}
	}
	if v != nil {
		g.volumes[self] = *v
		g.bound[v.claim] = append(g.bound[v.claim], self)
	}
}

// reaches reports whether a node has to do with an object: itself, through a pod, or through a pod and its volumes. It costs
// a few look-ups; of a secret that no pod names, those of all that the node's pods need.
func (g *NodeGraph) reaches(nodeName string, s sort, namespace, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n := g.nodes[nodeName]
	if n == nil {
		return false
	}
	v := at(s, namespace, name)
	if n.uses[v] > 0 {
		return true
	}
	switch s {
	case volumeSort:
		known, ok := g.volumes[v]
		return ok && n.uses[known.claim] > 0
	case secretSort:
		for used := range n.uses {
			for _, bound := range g.bound[used] {
				if slices.Contains(g.volumes[bound].secrets, v) {
					return true
				}
			}
		}
	}
	return false
}

// resourceClaim is the claim that an entry of a pod stands for, "" if there is none yet.
func resourceClaim(pod *corev1.Pod, entry *corev1.PodResourceClaim) string {
	if entry.ResourceClaimName != nil || entry.ResourceClaimTemplateName == nil {
		return scheme.OrZero(entry.ResourceClaimName)
	}
	for i := range pod.Status.ResourceClaimStatuses {
		if made := &pod.Status.ResourceClaimStatuses[i]; made.Name == entry.Name {
			return scheme.OrZero(made.ResourceClaimName)
		}
	}
	return ""
}
