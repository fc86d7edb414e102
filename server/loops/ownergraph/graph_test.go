package ownergraph

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// mapsOnly are Resources with only config maps, and with none while they are away.
type mapsOnly struct{ away *bool }

const mapsPrefix = "/registry/configmaps/"

func (r mapsOnly) Mapping(apiVersion, kind string) (Mapping, bool) {
	return Mapping{Resource: meta.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Prefix: mapsPrefix, Namespaced: true},
		apiVersion == "v1" && kind == "ConfigMap" && (r.away == nil || !*r.away)
}

func (mapsOnly) Ignored(string) bool { return false }

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
	g := New(mapsOnly{})
	g.Synced()
	const size = 100
	for round := range 3 {
		for i := range size {
			g.Apply(stored(fmt.Sprint(i), fmt.Sprint(i/3)))
		}
		for i := range size {
			key, _, _ := stored(fmt.Sprint((i*7)%size), "")
			if round == 1 {
				g.Apply(stored(fmt.Sprint((i*7)%size), "")) // the object loses its owner before it is deleted
			}
			g.Apply(key, nil, 0)
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
	g := New(mapsOnly{&away})
	g.Apply(stored("dependent", "owner"))
	key, value, _ := stored("owner", "")
	waits := strings.Replace(string(value), `"metadata":{`, `"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z","finalizers":["orphan"],`, 1)
	g.Apply(key, []byte(waits), 7)
	g.Synced()
	away = false
	if view := g.Look(g.mu.nodes[g.keyHash(key)], "uid-of-owner"); view.Waits != Orphaning || !view.Held || !view.Owns {
		t.Errorf("got %+v, want an owner that is held by its dependent", view)
	}
}

// TestGraphAllocates: an object that has no owners and no dependents costs no allocation. Nor does
// a change of a dependent that does not change its owners.
func TestGraphAllocates(t *testing.T) {
	g := New(mapsOnly{})
	g.Synced()
	key, value, _ := stored("alone", "")
	owned, ownedValue, _ := stored("owned", "owner")
	g.Apply(owned, ownedValue, 7)
	if n := testing.AllocsPerRun(100, func() {
		g.Apply(key, value, 7)
		g.Apply(owned, ownedValue, 7)
		g.Apply(key, nil, 0)
	}); n > 0 {
		t.Errorf("got %v allocs, want 0", n)
	}
}

// TestGraphMemory bounds what an object with an owner costs in memory, its key included.
func TestGraphMemory(t *testing.T) {
	const objects, most = 30_000, 200
	before := heapBytes()
	g := New(mapsOnly{})
	for i := range objects {
		g.Apply(stored(fmt.Sprintf("object-%06d", i), fmt.Sprintf("owner-%03d", i%1000)))
	}
	g.Synced()
	g.Todo = nil // is empty after the owners have been handled
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
			g := New(mapsOnly{})
			g.Synced()
			key, value, _ := stored("object", owner)
			b.ReportAllocs()
			for b.Loop() {
				g.Apply(key, value, 7)
				g.Apply(key, nil, 0)
			}
		})
	}
}

// TestGraphForgetsRemotes: when a resource is gone, the graph has none of its objects.
func TestGraphForgetsRemotes(t *testing.T) {
	g := New(mapsOnly{})
	g.Synced()
	boats := Mapping{
		Resource: meta.GroupVersionResource{Group: "boats.example.com", Version: "v1", Resource: "boats"},
		Prefix:   "//boats.example.com/boats/", Namespaced: true,
	}
	for i := range 100 {
		g.ApplyRemote(boats.Key("default", fmt.Sprint(i)), &meta.PartialObjectMetadata{ObjectMeta: meta.ObjectMeta{
			Name: fmt.Sprint(i), Namespace: "default", UID: meta.UID(fmt.Sprint("uid-", i)), OwnerReferences: []meta.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u"}, {APIVersion: "unheard/v1", Kind: "Of", Name: "x", UID: "v"},
			},
		}})
	}
	if len(g.mu.nodes) != 101 || len(g.mu.loose) != 100 {
		t.Fatalf("%d nodes and %d with references that lead nowhere, want 101 and 100", len(g.mu.nodes), len(g.mu.loose))
	}
	g.Forget(boats.Prefix)
	if len(g.mu.nodes) != 0 || len(g.mu.loose) != 0 {
		t.Errorf("%d nodes are left, %d with references that lead nowhere", len(g.mu.nodes), len(g.mu.loose))
	}
}
