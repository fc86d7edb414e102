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

// This file relates objects to nodes: a node uses its pods, they use secrets, configmaps, claims
// and more (nodeneeds.go), and a claim's persistent volume uses secrets. server feeds the graph
// from watches; Node asks reaches.

// NodeGraph holds which objects each node needs: the pods that are bound to it, and what these pods
// refer to. It is told of pods, volumes, attachments and resource slices as they change, and keeps
// only names: at most 800 bytes for a pod that refers to five objects. A name that several objects
// refer to is kept once. All methods may be called concurrently.
type NodeGraph struct {
	// Took, if set, is called with the duration of each change, for metrics. It must not block. It
	// is set before the first change.
	Took func(operation string, d time.Duration)

	mu    sync.RWMutex
	nodes map[string]*node // by name; only nodes that use something
	// owners are the objects that name the node that they belong to.
	owners map[vertex]owner
	// volumes are the persistent volumes that have a claim. bound are the volumes of each claim:
	// the reverse of volume.claim.
	volumes map[vertex]volume
	bound   map[vertex][]vertex
}

// node is a node that uses at least one object.
type node struct {
	name string
	uses map[vertex]uint32 // the number of owners on the node that use the object; never 0
}

// owner is a pod, a volume attachment or a resource slice with its node. The first of uses is the
// owner itself.
type owner struct {
	node *node
	uses []vertex
}

// volume is a persistent volume: its claim, and the secrets that it needs.
type volume struct {
	claim   vertex
	secrets []vertex
}

// vertex is the interned name of an object. Equal names are one pointer.
type vertex = unique.Handle[objectName]

// objectName is the name of an object.
type objectName struct {
	sort            objectSort
	namespace, name string
}

// objectSort is a resource that the graph knows.
type objectSort uint8

const (
	podSort objectSort = iota
	secretSort
	configMapSort
	claimSort // persistent volume claims
	volumeSort
	serviceAccountSort
	resourceClaimSort
	attachmentSort
	sliceSort
)

// vertexOf returns the vertex of an object.
func vertexOf(s objectSort, namespace, name string) vertex {
	return unique.Make(objectName{s, namespace, name})
}

// NewNodeGraph returns an empty NodeGraph.
func NewNodeGraph() *NodeGraph {
	return &NodeGraph{
		nodes: map[string]*node{}, owners: map[vertex]owner{}, volumes: map[vertex]volume{},
		bound: map[vertex][]vertex{},
	}
}

// SetPod notes the current state of a pod. A pod that is bound to no node is forgotten. Of a mirror
// pod only the pod itself counts, not its references, because the kubelet runs the static pod from
// its own files.
func (g *NodeGraph) SetPod(pod *corev1.Pod) {
	defer g.took("AddPod", time.Now())
	uses := []vertex{vertexOf(podSort, pod.Namespace, pod.Name)}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotation]; !mirror {
		uses = append(uses, podNeeds(pod)...)
	}
	g.setOwner(pod.Spec.NodeName, uses)
}

// DeletePod forgets a pod.
func (g *NodeGraph) DeletePod(namespace, name string) {
	defer g.took("DeletePod", time.Now())
	g.setOwner("", []vertex{vertexOf(podSort, namespace, name)})
}

// SetAttachment notes a volume attachment and its node; nodeName "" forgets it.
func (g *NodeGraph) SetAttachment(name, nodeName string) {
	defer g.took("AddVolumeAttachment", time.Now())
	g.setOwner(nodeName, []vertex{vertexOf(attachmentSort, "", name)})
}

// SetSlice notes a resource slice and its node; nodeName "" forgets it.
func (g *NodeGraph) SetSlice(name, nodeName string) {
	defer g.took("AddResourceSlice", time.Now())
	g.setOwner(nodeName, []vertex{vertexOf(sliceSort, "", name)})
}

// SetVolume notes a persistent volume. A node that uses the volume's claim may read the volume, and
// the secrets that the kubelet needs for it.
func (g *NodeGraph) SetVolume(pv *corev1.PersistentVolume) {
	defer g.took("AddPV", time.Now())
	v := vertexOf(volumeSort, "", pv.Name)
	if pv.Spec.ClaimRef == nil {
		g.setVolume(v, nil)
		return
	}
	g.setVolume(v, &volume{vertexOf(claimSort, pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name), volumeNeeds(pv)})
}

// DeleteVolume forgets a persistent volume.
func (g *NodeGraph) DeleteVolume(name string) {
	defer g.took("DeletePV", time.Now())
	g.setVolume(vertexOf(volumeSort, "", name), nil)
}

// took reports how long a change took.
func (g *NodeGraph) took(operation string, begun time.Time) {
	if g.Took != nil {
		g.Took(operation, time.Since(begun))
	}
}

// setOwner makes uses[0] an owner on a node that uses all of uses, and removes its earlier entry.
// nodeName "" only removes.
func (g *NodeGraph) setOwner(nodeName string, uses []vertex) {
	g.mu.Lock()
	defer g.mu.Unlock()
	self := uses[0]
	if old, ok := g.owners[self]; ok {
		g.removeUsesLocked(old)
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

// removeUsesLocked removes what an owner uses from its node. The caller holds mu.
func (g *NodeGraph) removeUsesLocked(o owner) {
	for _, u := range o.uses {
		if o.node.uses[u]--; o.node.uses[u] == 0 {
			delete(o.node.uses, u)
		}
	}
	if len(o.node.uses) == 0 {
		delete(g.nodes, o.node.name)
	}
}

// setVolume replaces the entry of a volume; nil removes it.
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

// reaches reports whether a node may read an object. It may if an owner on the node uses the
// object, or if an owner uses the claim of a persistent volume and the object is that volume or a
// secret that the volume needs. It costs a few lookups, except for a secret that no pod names: then
// it looks at the volumes of all claims that the node uses.
func (g *NodeGraph) reaches(nodeName string, s objectSort, namespace, name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n := g.nodes[nodeName]
	if n == nil {
		return false
	}
	v := vertexOf(s, namespace, name)
	if n.uses[v] > 0 {
		return true
	}
	switch s {
	case volumeSort:
		pv, ok := g.volumes[v]
		return ok && n.uses[pv.claim] > 0
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

// resourceClaim returns the name of the claim behind an entry of a pod, "" if the claim has not
// been made yet.
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
