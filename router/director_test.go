package router

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) })
}

func TestPrefixMux(t *testing.T) {
	m := NewPrefixMux()
	for _, path := range []string{"/", "/version", "/openapi/v3", "/openapi/v3/", "/debug/", "/debug/pprof/", "/debug/pprof/trace"} {
		if err := m.Handle(path, text(path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.HandleHidden("/hidden", text("/hidden")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/": "/", "/version": "/version", "/version/": "", "/version/x": "", "/versions": "",
		"/openapi/v3": "/openapi/v3", "/openapi/v3/": "/openapi/v3/", "/openapi/v3/api": "/openapi/v3/", "/openapi": "",
		"/debug": "/debug/", "/debug/x": "/debug/", "/debug/pprof": "/debug/pprof/", "/debug/pprof/": "/debug/pprof/",
		"/debug/pprof/heap": "/debug/pprof/", "/debug/pprof/trace": "/debug/pprof/trace", "/debug/pprof/trace/": "/debug/pprof/",
		"/debugger": "", "": "", "//": "", "/hidden": "/hidden", "/x": "",
	} {
		got := ""
		if h := m.Match(path); h != nil {
			got = serve(t, h, "GET", "/", "").Body.String()
		}
		if got != want {
			t.Errorf("Match(%q): got %q, want %q", path, got, want)
		}
	}
	want := []string{"/", "/debug/", "/debug/pprof/", "/debug/pprof/trace", "/openapi/v3", "/openapi/v3/", "/version"}
	if got := m.Paths(); !slices.Equal(got, want) {
		t.Errorf("Paths: got %q, want %q", got, want)
	}
	for _, path := range []string{"/version", "/debug/", "/hidden"} {
		if err := m.Handle(path, text("")); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Handle(%q) again: got %v, want an error that names it", path, err)
		}
	}
	for _, path := range []string{"/version", "/debug/pprof/", "/hidden", "/unknown", "/unknown/"} {
		m.Remove(path)
		if h := m.Match(path); h != nil && path != "/debug/pprof/" {
			t.Errorf("%q is served after Remove", path)
		}
	}
	if got := serve(t, m.Match("/debug/pprof/heap"), "GET", "/", "").Body.String(); got != "/debug/" {
		t.Errorf("after Remove: got %q, want the next longest prefix", got)
	}
	if err := m.Handle("/hidden", text("")); err != nil || !slices.Contains(m.Paths(), "/hidden") {
		t.Errorf("a path that was hidden and is visible again is not listed: %v", err)
	}
}

// chain is a delegation chain of two servers in front of next: the first serves v1 and g.io/v1, the
// second further resources in g.io/v1, and h.io/v1.
func chain(t *testing.T, next http.Handler) *Director {
	t.Helper()
	cfg := testConfig(t)
	shared := NewDiscovery(cfg.Codecs)
	f := &fake{objects: []request.Encoded{configMap("a", "")}}
	link := func(next http.Handler, version string, gvs ...GroupVersion) *Director {
		d := &Director{REST: NewRESTRouter(cfg), Discovery: shared, Prefix: NewPrefixMux(), Next: next}
		d.REST.Change(nil, gvs)
		d.Discovery.Change(nil, gvs)
		if err := d.Prefix.Handle(version, text(version)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	gv := func(group, plural string) GroupVersion {
		res := all(plural, true, f)
		return GroupVersion{GroupVersion: meta.GroupVersion{Group: group, Version: "v1"}, Resources: []Resource{res}}
	}
	second := link(next, "/second", gv("g.io", "others"), gv("h.io", "configmaps"))
	return link(second, "/first", gv("", "configmaps"), gv("g.io", "configmaps"))
}

func TestDirector(t *testing.T) {
	const statusBody, plain, foreign = `"reason":"NotFound"`, "404 page not found\n", "another server"
	for _, delegated := range []bool{false, true} {
		d, unknown, inGroup := chain(t, nil), plain, statusBody
		if delegated { // next is a server outside of the chain
			d, unknown, inGroup = chain(t, text(foreign)), foreign, foreign
		}
		for path, want := range map[string]string{
			"/api/v1/namespaces/ns/configmaps/a":       `"name":"a"`,
			"/apis/g.io/v1/namespaces/ns/configmaps/a": `"name":"a"`,
			"/apis/g.io/v1/namespaces/ns/others/a":     `"name":"a"`, // the second server's part of a version
			"/apis/h.io/v1/namespaces/ns/configmaps/a": `"name":"a"`,
			"/first":                     "/first",
			"/second":                    "/second",
			"/api":                       `"versions":["v1"]`,
			"/api/":                      `"versions":["v1"]`,
			"/api/v1":                    `"APIResourceList"`,
			"/apis":                      `"name":"h.io"`, // with the groups of all servers
			"/apis/g.io":                 `"APIGroup"`,
			"/apis/g.io/v1/":             `"name":"others"`,
			"/apis/h.io/v1":              `"name":"configmaps"`,
			"/api/v1/others":             inGroup, // known version, unknown resource
			"/apis/g.io/v1/nothing":      inGroup,
			"/apis/g.io/v1/configmaps/a": inGroup, // lacks the namespace
			"/apis/g.io/v9":              inGroup, // known group, unknown version
			"/apis/g.io/v9/configmaps":   inGroup,
			"/apis/h.io/v9":              inGroup,
			"/api/v2/configmaps":         inGroup,
			"/apis/i.io":                 unknown,
			"/apis/i.io/v1/configmaps":   unknown,
			"/apis//v1":                  unknown,
			"/elsewhere":                 unknown,
			"/":                          unknown,
		} {
			if got := serve(t, d, "GET", path, "").Body.String(); !strings.Contains(got, want) {
				t.Errorf("delegated %v: GET %s: got %q, want %q", delegated, path, got, want)
			}
		}
	}
}

// TestGroupOfAllocations: GroupOf, which runs for every unknown path, does not allocate.
func TestGroupOfAllocations(t *testing.T) {
	d := chain(t, nil)
	for path, want := range map[string]bool{"/apis/g.io/v9": true, "/apis/i.io": false, "/apis/": false, "/api": true, "/api/v9": true, "/apix": false} {
		_, info := parsed(t, "GET", path, "")
		if _, got := d.Discovery.GroupOf(path, info); got != want {
			t.Errorf("GroupOf(%q): got %v, want %v", path, got, want)
		}
		if n := testing.AllocsPerRun(100, func() { d.Discovery.GroupOf(path, info); d.REST.find(info) }); n > 0 {
			t.Errorf("GroupOf(%q): got %v allocs, want 0", path, n)
		}
	}
}
