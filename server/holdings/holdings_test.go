package holdings_test

import (
	"testing"

	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/holdings"
	"github.com/coracle-project/coracle/server/loops/ownergraph"
	"github.com/coracle-project/coracle/server/loops/ownership"
)

// harbor is a server behind this one, with the namespaced resource boats and the cluster-scoped
// resource docks. It does not describe quays.
type harbor struct{ changed chan struct{} }

var harborVersion = meta.GroupVersion{Group: "harbor.example.com", Version: "v1"}

func (harbor) resources() []apidiscoveryv2.APIResourceDiscovery {
	verbs := []string{"get", "list", "watch", "delete"}
	return []apidiscoveryv2.APIResourceDiscovery{
		{Resource: "boats", Scope: apidiscoveryv2.ScopeNamespace, Verbs: verbs, ResponseKind: &meta.GroupVersionKind{Kind: "Boat"}},
		{Resource: "docks", Scope: apidiscoveryv2.ScopeCluster, Verbs: verbs[:2], ResponseKind: &meta.GroupVersionKind{Kind: "Dock"}},
	}
}

func (h harbor) Proxies(gv meta.GroupVersion) bool { return gv == harborVersion }

func (h harbor) Preferred(take func(meta.GroupVersionResource, *apidiscoveryv2.APIResourceDiscovery) bool) (
	unknown []meta.GroupVersion, changed <-chan struct{}) {
	for _, r := range h.resources() {
		take(harborVersion.WithResource(r.Resource), &r)
	}
	return []meta.GroupVersion{{Group: "quays.example.com", Version: "v1"}}, h.changed
}

func (h harbor) Resource(asked func(*router.RemoteVersion, *apidiscoveryv2.APIResourceDiscovery) bool) (
	gvr meta.GroupVersionResource, kind string, namespaced, ok bool) {
	for _, r := range h.resources() {
		if asked(&router.RemoteVersion{GroupVersion: harborVersion}, &r) {
			return harborVersion.WithResource(r.Resource), r.ResponseKind.Kind, r.Scope == apidiscoveryv2.ScopeNamespace, true
		}
	}
	return gvr, "", false, false
}

// TestRemote finds objects of a server behind this one by their keys and kinds.
func TestRemote(t *testing.T) {
	behind := harbor{make(chan struct{})}
	h := holdings.New(holdings.Needs{Table: generic.NewTable("/registry/"), ServersBehind: behind})
	boats, docks := harborVersion.WithResource("boats"), harborVersion.WithResource("docks")
	for key, want := range map[string]ownership.ObjectRef{
		"//harbor.example.com/boats/ns/a": {Resource: boats, Kind: "Boat", Namespace: "ns", Name: "a", Remote: true},
		"//harbor.example.com/docks/a":    {Resource: docks, Kind: "Dock", Name: "a", Remote: true},
		"//harbor.example.com/boats/a":    {}, // lacks its namespace
		"//harbor.example.com/docks/ns/a": {},
		"//harbor.example.com/docks":      {},
		"//quays.example.com/quays/a":     {},
		"//":                              {},
		"/registry/boats/ns/a":            {},
	} {
		if got, ok := h.ObjectAt(key); ok != (want.Name != "") || ok && got != want {
			t.Errorf("ObjectAt(%q): got %+v, %v, want %+v", key, got, ok, want)
		}
	}
	dock, ok := h.Mapping(harborVersion.String(), "Dock")
	if want := (ownergraph.Mapping{Resource: docks, Prefix: "//harbor.example.com/docks/"}); !ok || dock != want {
		t.Errorf("Mapping(Dock): got %+v, %v, want %+v", dock, ok, want)
	}
	if got, ok := h.Mapping("quays.example.com/v1", "Quay"); ok {
		t.Errorf("Mapping(Quay): got %+v, want none", got)
	}
	mappings, unknown := h.RemoteResources()
	if want := (ownergraph.Mapping{Resource: boats, Prefix: "//harbor.example.com/boats/", Namespaced: true}); len(mappings) != 1 || mappings[0] != want || len(unknown) != 1 {
		t.Errorf("RemoteResources: got %+v and %v, want boats alone, because docks cannot be watched, and one unknown version", mappings, unknown)
	}
	if _, elsewhere := h.Changed(); elsewhere != (<-chan struct{})(behind.changed) {
		t.Error("Changed: got another channel than that of the servers behind")
	}
}
