package router

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// groups are what the tests of discovery serve.
func groups(tb testing.TB) *Discovery {
	tb.Helper()
	d := NewDiscovery(testConfig(tb).Codecs)
	f := &fake{}
	status := Resource{Name: "things/status", Kind: meta.GroupVersion{Version: "v1"}.WithKind("ConfigMap"), Namespaced: true, Getter: f, Updater: f, NoPatch: true}
	things := all("things", true, f)
	things.ShortNames, things.Categories = []string{"th"}, []string{"all"}
	v1 := GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{status, all("zebras", false, f), things}}
	d.Install(v1, 100)
	for _, gv := range []struct {
		group, version string
		priority       int
	}{{"b.io", "v2", 10}, {"b.io", "v1", 10}, {"a.io", "v1", 10}, {"first.io", "v1", 20}} {
		d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: gv.group, Version: gv.version},
			Resources: []Resource{{Name: "things", Kind: meta.GroupVersionKind{Group: gv.group, Version: gv.version, Kind: "Thing"}, Lister: f}}}, gv.priority)
	}
	return d
}

// get asks for a discovery document.
func (d *Discovery) get(tb testing.TB, method, path string, header ...string) (int, string, http.Header) {
	tb.Helper()
	h := d.Match(path)
	if h == nil {
		return 0, "", nil
	}
	w := serve(tb, h, method, path, "", header...)
	return w.Code, w.Body.String(), w.Header()
}

const aggregatedJSON = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func TestDiscoveryDocuments(t *testing.T) {
	d := groups(t)
	for path, want := range map[string]string{
		"/api/v1":       `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"things","singularName":"thing","namespaced":true,"kind":"ConfigMap","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["th"],"categories":["all"],"storageVersionHash":"`,
		"/apis/a.io":    `{"kind":"APIGroup","apiVersion":"v1","name":"a.io","versions":[{"groupVersion":"a.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"a.io/v1","version":"v1"}}`,
		"/apis/a.io/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"a.io/v1","resources":[{"name":"things","singularName":"","namespaced":false,"kind":"Thing","verbs":["list"],"storageVersionHash":"`,
	} {
		for _, p := range []string{path, path + "/"} {
			if code, body, _ := d.get(t, "GET", p); code != 200 || !strings.HasPrefix(body, want) {
				t.Errorf("GET %s: got %d %s, want %s", p, code, body, want)
			}
		}
	}
	_, body, _ := d.get(t, "GET", "/api/v1")
	if things, status := strings.Index(body, `"name":"things"`), strings.Index(body, `{"name":"things/status","singularName":"","namespaced":true,"kind":"ConfigMap","verbs":["get","update"]}`); things < 0 || status < things {
		t.Errorf("subresources: %s", body)
	}
	var list meta.APIGroupList
	if _, body, _ := d.get(t, "GET", "/apis"); json.Unmarshal([]byte(body), &list) != nil {
		t.Fatal(body)
	}
	var names []string
	for _, g := range list.Groups {
		names = append(names, g.Name+"/"+g.PreferredVersion.Version)
	}
	if want := []string{"first.io/v1", "a.io/v1", "b.io/v2"}; !slices.Equal(names, want) {
		t.Errorf("groups: got %v, want %v", names, want)
	}
	for _, path := range []string{"/apis/none", "/apis/a.io/v9", "/api/v9", "/apis/a.io/v1/things", "/other", "/", "/apis//v1", "/" + strings.Repeat("a/", 1<<19)} {
		if code, _, _ := d.get(t, "GET", path); code != 0 {
			t.Errorf("GET %.40s: got %d, want no document", path, code)
		}
	}
}

func TestDiscoveryMethods(t *testing.T) {
	d := groups(t)
	for _, tt := range []struct {
		path  string
		codes map[string]int
	}{
		{"/api", map[string]int{"GET": 200, "HEAD": 405, "PUT": 405, "DELETE": 405, "POST": 405, "OPTIONS": 405}},
		{"/apis", map[string]int{"GET": 200, "HEAD": 405, "PUT": 200, "DELETE": 200, "POST": 405}},
		{"/apis/a.io", map[string]int{"GET": 200, "HEAD": 405, "PUT": 200, "DELETE": 200, "POST": 405}},
		{"/apis/a.io/v1", map[string]int{"GET": 200, "HEAD": 405, "PUT": 405, "DELETE": 405, "POST": 405}},
	} {
		for method, want := range tt.codes {
			if code, _, _ := d.get(t, method, tt.path); code != want {
				t.Errorf("%s %s: got %d, want %d", method, tt.path, code, want)
			}
		}
	}
}

func TestDiscoveryForms(t *testing.T) {
	d := groups(t)
	for _, tt := range []struct {
		accept string
		code   int
		typ    string
	}{
		{"", 200, "application/json"}, {"*/*", 200, "application/json"}, {"application/yaml", 200, "application/yaml"},
		{"application/vnd.kubernetes.protobuf", 200, "application/vnd.kubernetes.protobuf"},
		{"text/html", 406, "application/json"},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", 406, "application/json"},
		{"application/json;as=Table;g=meta.k8s.io;v=v1,application/json", 200, "application/json"},
	} {
		for range 2 { // made, and kept
			code, body, h := d.get(t, "GET", "/apis/a.io", "Accept", tt.accept)
			if code != tt.code || h.Get("Content-Type") != tt.typ || body == "" {
				t.Errorf("Accept %q: got %d %s %q, want %d %s", tt.accept, code, h.Get("Content-Type"), body, tt.code, tt.typ)
			}
			if n := h.Get("Content-Length"); n != fmt.Sprint(len(body)) {
				t.Errorf("Accept %q: Content-Length %s of %d bytes", tt.accept, n, len(body))
			}
		}
	}
	if _, body, _ := d.get(t, "GET", "/apis/a.io", "User-Agent", "curl/8"); !strings.Contains(body, "\n  ") {
		t.Errorf("curl gets %s, want it indented", body)
	}
}

func TestAggregatedDiscovery(t *testing.T) {
	d := groups(t)
	code, body, h := d.get(t, "GET", "/apis", "Accept", aggregatedJSON+",application/json")
	if code != 200 || h.Get("Content-Type") != aggregatedJSON || h.Get("Vary") != "Accept" || !strings.Contains(body, `"kind":"APIGroupDiscoveryList"`) {
		t.Fatalf("got %d %v %s", code, h, body)
	}
	etag := h.Get("ETag")
	if code, _, _ := d.get(t, "GET", "/apis", "Accept", aggregatedJSON, "If-None-Match", etag); code != http.StatusNotModified {
		t.Errorf("with the ETag: got %d, want 304", code)
	}
	if code, _, _ := d.get(t, "GET", "/apis", "Accept", aggregatedJSON, "If-None-Match", `"other"`); code != 200 {
		t.Errorf("with another ETag: got %d, want 200", code)
	}
	if _, legacy, _ := d.get(t, "GET", "/api", "Accept", aggregatedJSON); !strings.Contains(legacy, `"subresources":[{"subresource":"status"`) {
		t.Errorf("/api: subresources are not inside their resource: %s", legacy)
	}
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: "new.io", Version: "v1"}}, 1)
	code, body, h = d.get(t, "GET", "/apis", "Accept", aggregatedJSON, "If-None-Match", etag)
	if code != 200 || h.Get("ETag") == etag || !strings.Contains(body, "new.io") {
		t.Errorf("after a change: got %d, ETag %s, was %s", code, h.Get("ETag"), etag)
	}
	if _, plain, _ := d.get(t, "GET", "/apis"); !strings.Contains(plain, "new.io") {
		t.Errorf("after a change: the plain list is %s", plain)
	}
	d.Remove(meta.GroupVersion{Group: "new.io", Version: "v1"})
	d.Remove(meta.GroupVersion{Group: "never.io", Version: "v1"})
	if _, _, h = d.get(t, "GET", "/apis", "Accept", aggregatedJSON); h.Get("ETag") != etag {
		t.Errorf("after taking it back: ETag %s, want %s again", h.Get("ETag"), etag)
	}
	for accept, want := range map[string]bool{
		aggregatedJSON:                                                        true,
		"application/json," + aggregatedJSON:                                  false,
		"text/html," + aggregatedJSON:                                         true,
		strings.Replace(aggregatedJSON, "v2", "v2beta1", 1):                   false,
		strings.Replace(aggregatedJSON, "json", "vnd.kubernetes.protobuf", 1): true,
		"application/json;as=APIGroupDiscoveryList":                           false,
		"": false, ";;;,,;=": false,
	} {
		if _, got := acceptsAggregated(accept); got != want {
			t.Errorf("acceptsAggregated(%q): got %v, want %v", accept, got, want)
		}
	}
}

func TestOpenAPI(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, &fake{})}}, 1)
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	v2, v3 := http.HandlerFunc(o.ServeV2), http.HandlerFunc(o.ServeV3)
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "application/json": "application/json", protoV2: protoV2Old, protoV2Old: protoV2Old,
	} {
		if w := serve(t, v2, "GET", "/openapi/v2", "", "Accept", accept); w.Code != 200 || w.Header().Get("Content-Type") != want || w.Body.Len() == 0 {
			t.Errorf("v2, Accept %q: got %d %s", accept, w.Code, w.Header().Get("Content-Type"))
		}
	}
	if w := serve(t, v2, "GET", "/openapi/v2", "", "Accept", "text/html"); w.Code != 406 {
		t.Errorf("v2, Accept text/html: got %d, want 406", w.Code)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if w := serve(t, v3, "GET", "/openapi/v3", ""); json.Unmarshal(w.Body.Bytes(), &index) != nil || index.Paths["api/v1"].ServerRelativeURL == "" {
		t.Fatalf("v3: %s", w.Body)
	}
	url := index.Paths["api/v1"].ServerRelativeURL
	w := serve(t, v3, "GET", url, "")
	if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || !json.Valid(w.Body.Bytes()) {
		t.Errorf("GET %s: %d %v", url, w.Code, w.Header())
	}
	if again := serve(t, v3, "GET", url, "", "If-None-Match", w.Header().Get("ETag")); again.Code != 304 {
		t.Errorf("with the ETag: got %d, want 304", again.Code)
	}
	if old := serve(t, v3, "GET", "/openapi/v3/api/v1?hash=OLD", ""); old.Code != 301 || old.Header().Get("Location") != url {
		t.Errorf("with an old hash: got %d to %s, want 301 to %s", old.Code, old.Header().Get("Location"), url)
	}
	for _, path := range []string{"/openapi/v3/none", "/openapi/v3/v2", "/openapi/v3/v3", "/openapi/v3//v2", "/openapi/v3/v2proto"} {
		if w := serve(t, v3, "GET", path, ""); w.Code != 404 {
			t.Errorf("GET %s: got %d, want 404", path, w.Code)
		}
	}
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: "new.io", Version: "v1"}}, 1)
	if w := serve(t, v3, "GET", "/openapi/v3", ""); !strings.Contains(w.Body.String(), "apis/new.io/v1") {
		t.Errorf("after a change: %s", w.Body)
	}
}
