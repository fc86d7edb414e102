package ownership

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// mapsOnly is a set of Resources with only config maps, and with none while they are away.
type mapsOnly struct{ away *bool }

const mapsPrefix = "/registry/configmaps/"

func (mapsOnly) ObjectAt(key string) (ObjectRef, bool) {
	namespace, name, ok := strings.Cut(strings.TrimPrefix(key, mapsPrefix), "/")
	return ObjectRef{Kind: "ConfigMap", Namespace: namespace, Name: name}, ok
}

func (r mapsOnly) Mapping(apiVersion, kind string) (Mapping, bool) {
	return Mapping{Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Prefix: mapsPrefix, Namespaced: true},
		apiVersion == "v1" && kind == "ConfigMap" && (r.away == nil || !*r.away)
}

func (mapsOnly) Ignored(string) bool                               { return false }
func (mapsOnly) RemoteResources() ([]Mapping, []meta.GroupVersion) { return nil, nil }
func (mapsOnly) Changed() (_, _ <-chan struct{})                   { return nil, nil }

// stored returns a stored config map. owner is the name of another config map, "" for none.
func stored(name, owner string) (key string, value []byte, rev uint64) {
	refs := ""
	if owner != "" {
		refs = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":"uid-of-%s","blockOwnerDeletion":true}]`, owner, owner)
	}
	return mapsPrefix + "default/" + name, fmt.Appendf(nil, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":"uid-of-%s"%s},"data":{"a":"b"}}`,
		name, name, refs), 7
}

// TestGraphForgets: when all objects are gone, the graph is empty.
func TestGraphForgets(t *testing.T) {
	g := newOwnerGraph(mapsOnly{})
	g.synced()
	const size = 100
	for round := range 3 {
		for i := range size {
			g.apply(stored(fmt.Sprint(i), fmt.Sprint(i/3)))
		}
		for i := range size {
			key, _, _ := stored(fmt.Sprint((i*7)%size), "")
			if round == 1 {
				g.apply(stored(fmt.Sprint((i*7)%size), "")) // the object loses its owner before it is deleted
			}
			g.apply(key, nil, 0)
		}
		if n := len(g.mu.nodes); n != 0 {
			t.Errorf("%d nodes are left", n)
		}
	}
}

// TestGraphFindsLooseDependents: an owner that waits for its dependents also waits for those whose
// resource has just been added.
func TestGraphFindsLooseDependents(t *testing.T) {
	away := true
	g := newOwnerGraph(mapsOnly{&away})
	g.apply(stored("dependent", "owner"))
	key, value, _ := stored("owner", "")
	waits := strings.Replace(string(value), `"metadata":{`, `"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z","finalizers":["orphan"],`, 1)
	g.apply(key, []byte(waits), 7)
	g.synced()
	away = false
	if view := g.look(g.mu.nodes[g.keyHash(key)], "uid-of-owner"); view.waits != orphaning || !view.held || !view.owns {
		t.Errorf("got %+v, want an owner that is held by its dependent", view)
	}
}

// TestGraphAllocates: an object that has no owners and no dependents costs no allocation. Nor does
// a change of a dependent that does not change its owners.
func TestGraphAllocates(t *testing.T) {
	g := newOwnerGraph(mapsOnly{})
	g.synced()
	key, value, _ := stored("alone", "")
	owned, ownedValue, _ := stored("owned", "owner")
	g.apply(owned, ownedValue, 7)
	if n := testing.AllocsPerRun(100, func() {
		g.apply(key, value, 7)
		g.apply(owned, ownedValue, 7)
		g.apply(key, nil, 0)
	}); n > 0 {
		t.Errorf("got %v allocs, want 0", n)
	}
}

// TestGraphMemory bounds what an object with an owner costs in memory, its key included.
func TestGraphMemory(t *testing.T) {
	const objects, most = 30_000, 200
	before := heapBytes()
	g := newOwnerGraph(mapsOnly{})
	for i := range objects {
		g.apply(stored(fmt.Sprintf("object-%06d", i), fmt.Sprintf("owner-%03d", i%1000)))
	}
	g.synced()
	g.todo = nil // is empty after the owners have been handled
	each := (heapBytes() - before) / objects
	t.Logf("%d bytes an object", each)
	if each > most {
		t.Errorf("%d bytes an object, want at most %d", each, most)
	}
	runtime.KeepAlive(g)
}

// heapBytes returns the size of the live heap.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkGraph measures the cost of a change of the graph.
func BenchmarkGraph(b *testing.B) {
	for _, owner := range []string{"", "owner"} {
		b.Run(fmt.Sprintf("owner=%t", owner != ""), func(b *testing.B) {
			g := newOwnerGraph(mapsOnly{})
			g.synced()
			key, value, _ := stored("object", owner)
			b.ReportAllocs()
			for b.Loop() {
				g.apply(key, value, 7)
				g.apply(key, nil, 0)
			}
		})
	}
}
