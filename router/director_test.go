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
		t.Errorf("a path that was hidden and comes again is not listed: %v", err)
	}
}

func TestDirector(t *testing.T) {
	cfg := testConfig(t)
	f := &fake{objects: []request.Encoded{configMap("a", "")}}
	d := &Director{REST: NewRESTRouter(cfg), Discovery: NewDiscovery(cfg.Codecs), Prefix: NewPrefixMux()}
	v1 := GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, f)}}
	g := GroupVersion{GroupVersion: meta.GroupVersion{Group: "g.io", Version: "v1"}, Resources: []Resource{all("configmaps", true, f)}}
	for _, gv := range []GroupVersion{v1, g} {
		d.REST.Install(gv)
		d.Discovery.Install(gv, 1)
	}
	if err := d.Prefix.Handle("/version", text("version")); err != nil {
		t.Fatal(err)
	}
	const statusBody, plain, next = `"reason":"NotFound"`, "404 page not found\n", "the next server"
	for _, delegated := range []bool{false, true} {
		end := plain
		if delegated {
			d.Next, end = text(next), next
		}
		for path, want := range map[string]string{
			"/api/v1/namespaces/ns/configmaps/a": `"name":"a"`,
			"/version":                           "version",
			"/api":                               `"versions":["v1"]`,
			"/api/":                              `"versions":["v1"]`,
			"/api/v1":                            `"APIResourceList"`,
			"/apis":                              `"APIGroupList"`,
			"/apis/g.io":                         `"APIGroup"`,
			"/apis/g.io/v1/":                     `"APIResourceList"`,
			"/api/v1/others":                     statusBody, // known version, unknown resource
			"/apis/g.io/v9":                      statusBody, // known group, unknown version
			"/apis/g.io/v9/configmaps":           statusBody,
			"/api/v2/configmaps":                 statusBody,
			"/apis/h.io":                         end, // unknown group
			"/apis/h.io/v1/configmaps":           end,
			"/apis//v1":                          end,
			"/elsewhere":                         end,
			"/":                                  end,
		} {
			if got := serve(t, d, "GET", path, "").Body.String(); !strings.Contains(got, want) {
				t.Errorf("delegated %v: GET %s: got %q, want %q", delegated, path, got, want)
			}
		}
	}
}
