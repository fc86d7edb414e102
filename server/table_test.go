package server

import (
	"slices"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// tableServer returns a server with Kubernetes' groups, and config maps as widgets.test.io, which
// other.io shares.
func tableServer(t *testing.T) *Server {
	t.Helper()
	kinds := func(s *scheme.Scheme) {
		for _, group := range []string{"test.io", "other.io"} {
			s.AddKnownTypes(meta.GroupVersion{Group: group, Version: "v1"}, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
		}
	}
	name := meta.GroupResource{Group: "test.io", Resource: "widgets"}
	s, err := New(t.Context(), Config{
		DataDir: t.TempDir(), Storage: StorageConfig{Engine: StorageMemory}, Serving: ServingConfig{SecurePort: NoPort, HTTPPort: AnyPort},
		API: APIConfig{Core: true, Groups: []Group{
			{Name: "test.io", AddToScheme: kinds, Resources: []registry.Resource{
				registry.Typed(registry.ResourceOf[*corev1.ConfigMap]{GroupResource: name, Kind: "ConfigMap", Namespaced: true}),
			}},
			{Name: "other.io", AddToScheme: func(*scheme.Scheme) {}, Shared: []meta.GroupResource{name}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestTableOfKey(t *testing.T) {
	s := tableServer(t)
	for key, want := range map[string]string{
		"/registry/pods/ns/a":               "pods",
		"/registry/pods/ns/":                "pods",
		"/registry/pods/":                   "pods",
		"/registry/pods":                    "",
		"/registry/podsx/ns/a":              "",
		"/registry/minions/a":               "nodes",
		"/registry/nodes/a":                 "",
		"/registry/services/specs/ns/a":     "services",
		"/registry/services/specs/":         "services",
		"/registry/services/":               "",
		"/registry/services/endpoints/ns/a": "endpoints",
		"/registry/test.io/widgets/ns/a":    "widgets.test.io",
		"/registry/test.io/others/ns/a":     "",
		"/registry/widgets/ns/a":            "",
		"/registry/":                        "",
		"/registry":                         "",
		"":                                  "",
		"/":                                 "",
		"//":                                "",
		"/elsewhere/pods/ns/a":              "",
		"/registry//pods/ns/a":              "",
	} {
		got := ""
		e := s.Table().OfKey(key)
		if e != nil {
			got = e.Name.String()
		}
		if got != want {
			t.Errorf("ofKey(%q): got %q, want %q", key, got, want)
		}
		if n := testing.AllocsPerRun(100, func() { s.Table().OfKey(key) }); n > 0 {
			t.Errorf("ofKey(%q): got %v allocs, want 0", key, n)
		}
	}
}

// TestTableNames: a resource that two groups serve is one entry.
func TestTableNames(t *testing.T) {
	s := tableServer(t)
	own, other := meta.GroupResource{Group: "test.io", Resource: "widgets"}, meta.GroupResource{Group: "other.io", Resource: "widgets"}
	if a, b := s.Table().Find(own), s.Table().Find(other); a == nil || b == nil || a.Entry != b.Entry || a.Backend != s.Backends().Main() {
		t.Errorf("two names: got %+v and %+v, want one entry", a, b)
	}
	for _, tt := range []struct{ kind, want string }{{"test.io", "widgets.test.io"}, {"other.io", "widgets.other.io"}, {"", "configmaps"}} {
		if gr, ok := s.ResourceOf(meta.GroupKind{Group: tt.kind, Kind: "ConfigMap"}); !ok || gr.String() != tt.want {
			t.Errorf("ResourceOf(ConfigMap of %q): got %v, want %s", tt.kind, gr, tt.want)
		}
	}
	var contents []string // the resources that namespaces contain, each once
	for _, gvr := range s.holdings().NamespacedResources() {
		contents = append(contents, gvr.GroupResource().String())
	}
	once := len(slices.Compact(slices.Sorted(slices.Values(contents)))) == len(contents)
	if !once || contents[0] != "pods" || !slices.IsSorted(contents[1:]) || !slices.Contains(contents, "widgets.test.io") ||
		slices.Contains(contents, "widgets.other.io") || slices.Contains(contents, "namespaces") {
		t.Errorf("contents: got %v, want pods, then all else in namespaces in order, each once and by its first name", contents)
	}
	if gone, err := s.Remove(own); err != nil {
		t.Error(err)
	} else {
		<-gone
	}
	if _, ok := s.ResourceOf(meta.GroupKind{Group: "other.io", Kind: "ConfigMap"}); ok || s.Store(other) != nil || s.Table().OfKey("/registry/test.io/widgets/ns/a") != nil {
		t.Error("Remove of the first name leaves something behind")
	}
}

// TestTableKinds checks ResourceOf while resources of one kind are installed and removed.
func TestTableKinds(t *testing.T) {
	s := tableServer(t)
	declare := func(plural string) registry.Resource {
		return registry.Typed(registry.ResourceOf[*corev1.ConfigMap]{GroupResource: meta.GroupResource{Group: "test.io", Resource: plural}, Kind: "ConfigMap", Namespaced: true})
	}
	resource := func() string {
		gr, _ := s.ResourceOf(meta.GroupKind{Group: "test.io", Kind: "ConfigMap"})
		return gr.Resource
	}
	remove := func(plural string) error {
		_, err := s.Remove(meta.GroupResource{Group: "test.io", Resource: plural})
		return err
	}
	for i, step := range []struct {
		do   func() error
		want string
	}{
		{func() error {
			return s.Install(s.Core, Group{Name: "test.io", Resources: []registry.Resource{declare("gadgets")}})
		}, "widgets"},
		{func() error { return s.Replace(declare("widgets")) }, "widgets"},
		{func() error { return remove("widgets") }, "gadgets"},
		{func() error {
			return s.Install(s.Core, Group{Name: "test.io", Resources: []registry.Resource{declare("widgets")}})
		}, "gadgets"},
		{func() error { return remove("widgets") }, "gadgets"},
		{func() error { return remove("gadgets") }, ""},
	} {
		if err := step.do(); err != nil || resource() != step.want {
			t.Errorf("step %d: %v, got %q, want %q", i, err, resource(), step.want)
		}
	}
}
