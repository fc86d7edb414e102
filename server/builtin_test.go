package server

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// newQuiet returns a server with these groups and a memory store. It has no controllers and no
// secure port.
func newQuiet(t *testing.T, api APIConfig) (*Server, error) {
	t.Helper()
	s, err := New(t.Context(), Config{
		DataDir: t.TempDir(), API: api, Controllers: []string{},
		Storage: StorageConfig{Engine: StorageMemory},
		Serving: ServingConfig{SecurePort: NoPort, HTTPPort: AnyPort},
	})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// TestBuiltInKinds declares the built-in groups in the way in which a user's groups are declared:
// everything that a server compiles at first use is compiled here, and mistakes in it are reported.
func TestBuiltInKinds(t *testing.T) {
	groups := coreGroups(APIConfig{}, surroundings{})
	if _, err := newQuiet(t, APIConfig{Groups: groups}); err != nil {
		t.Error(err)
	}
	if len(groups) != len(api.Groups) {
		t.Errorf("%d groups are served, and %d have kinds", len(groups), len(api.Groups))
	}
}

// TestBuiltInKindsAreLazy checks which kinds a new server has not compiled: the built-in ones, but
// not those of its user.
func TestBuiltInKindsAreLazy(t *testing.T) {
	group := manyKinds(1)
	s, err := newQuiet(t, APIConfig{Core: true, Groups: []Group{group}})
	if err != nil {
		t.Fatal(err)
	}
	for gk, want := range map[meta.GroupKind]bool{{Kind: "Pod"}: true, {Kind: "PodList"}: true, {Group: group.Name, Kind: "Kind0"}: false} {
		if got := s.Scheme.IsLazy(gk); got != want {
			t.Errorf("IsLazy(%s): got %v, want %v", gk, got, want)
		}
	}
}

// TestNeedsOfBuiltInResources parses the needs of all built-in resources. Their kinds are lazy, so
// a server parses the needs only when it loads the first object.
func TestNeedsOfBuiltInResources(t *testing.T) {
	s, err := newQuiet(t, APIConfig{Core: true})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for e := range s.Table().Now().Stored {
		res, k := e.Store.Resource(), e.Store.Kind()
		stored := k.Versions()[0]
		if res.StorageVersion != "" {
			stored = kind.StoredIn(k, meta.GroupVersion{Group: res.GroupResource.Group, Version: res.StorageVersion}.String())
		}
		if res.Complete != nil && len(res.CompleteNeeds) == 0 {
			t.Errorf("%s: its completion has no needs, so that each object is decoded when it is loaded", res.GroupResource)
		}
		for _, text := range res.CompleteNeeds {
			found++
			if _, err := typeinfo.ParseNeed(stored.Type(), text); err != nil {
				t.Errorf("%s: %v", res.GroupResource, err)
			}
		}
	}
	if found < 5 {
		t.Errorf("found %d needs", found)
	}
}

// manyKinds returns a group of n resources, each with a kind of its own.
func manyKinds(n int) Group {
	gv := meta.GroupVersion{Group: "many.example.com", Version: "v1"}
	g := Group{Name: gv.Group, AddToScheme: func(s *scheme.Scheme) {
		for i := range n {
			s.AddKnownType(gv.WithKind(fmt.Sprintf("Kind%d", i)), &corev1.ConfigMap{})
			s.AddKnownType(gv.WithKind(fmt.Sprintf("Kind%dList", i)), &corev1.ConfigMapList{})
		}
	}}
	for i := range n {
		g.Resources = append(g.Resources, registry.Typed(registry.ResourceOf[*corev1.ConfigMap]{
			GroupResource: gv.WithResource(fmt.Sprintf("kind%ds", i)).GroupResource(), Kind: fmt.Sprintf("Kind%d", i), Namespaced: true,
		}))
	}
	return g
}

// maxUnused bounds the memory, in bytes, of a resource that no client has used.
const maxUnused = 24 << 10

// TestUnusedResources: a resource that no client has used has no goroutine, no metrics and hardly
// any memory.
func TestUnusedResources(t *testing.T) {
	const many = 60
	measure := func(n int) (heap, goroutines, series int) {
		s, err := newQuiet(t, APIConfig{Groups: []Group{manyKinds(n)}})
		if err != nil {
			t.Fatal(err)
		}
		families, err := s.Metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			series += len(f.Metric)
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap, goroutines = int(m.HeapAlloc), runtime.NumGoroutine()
		runtime.KeepAlive(s)
		return heap, goroutines, series
	}
	measure(1) // the first server fills what all servers of the process share
	heap0, goroutines0, series0 := measure(1)
	heap1, goroutines1, series1 := measure(1) // the difference is what a second server adds
	heap2, goroutines2, series2 := measure(1 + many)
	per := ((heap2 - heap1) - (heap1 - heap0)) / many
	t.Logf("an unused resource takes %d bytes", per)
	if per > maxUnused {
		t.Errorf("an unused resource takes %d bytes, want at most %d", per, maxUnused)
	}
	if more := (goroutines2 - goroutines1) - (goroutines1 - goroutines0); more > 0 {
		t.Errorf("%d unused resources have %d goroutines", many, more)
	}
	if series2 > series1 || series1 != series0 {
		t.Errorf("%d unused resources have %d metrics, those of a server with one have %d", many, series2, series1)
	}
}
