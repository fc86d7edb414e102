package router

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Install adds or replaces one group version.
func (d *Discovery) Install(gv GroupVersion) { d.Change(nil, []GroupVersion{gv}) }
func (d *Discovery) Remove(gv GroupVersion)  { d.Change([]GroupVersion{gv}, nil) }

// things is a group version with one resource.
func things(group, version string, groupPriority, versionPriority int) GroupVersion {
	gv := meta.GroupVersion{Group: group, Version: version}
	return GroupVersion{
		GroupVersion: gv, GroupPriority: groupPriority, VersionPriority: versionPriority,
		Resources: []Resource{{Description: meta.Description{Name: "things", Kind: gv.WithKind("Thing")}, Lister: &fake{}}},
	}
}

// groups returns the groups that the tests of discovery serve.
func groups(tb testing.TB) *Discovery {
	tb.Helper()
	d := NewDiscovery(testConfig(tb).Codecs)
	f := &fake{}
	status := Resource{Description: meta.Description{Name: "things/status", Kind: meta.GroupVersion{Version: "v1"}.WithKind("ConfigMap"), Namespaced: true}, Getter: f, Updater: f, NoPatch: true}
	main := all("things", true, f)
	main.ShortNames, main.Categories = []string{"th"}, []string{"all"}
	v1 := GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{status, all("zebras", false, f), main}}
	d.Install(v1)
	for _, gv := range []struct {
		group, version string
		priority       int
	}{{"b.io", "v1", 10}, {"b.io", "v2", 10}, {"a.io", "v1", 10}, {"first.io", "v1", 20}} {
		d.Install(things(gv.group, gv.version, gv.priority, 0))
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
		"/apis/a.io/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"a.io/v1","resources":[{"name":"things","singularName":"","namespaced":false,"kind":"Thing","verbs":["list"]}`,
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

// TestResourceOf looks resources up by kind, also resources of servers behind this one.
func TestResourceOf(t *testing.T) {
	d := groups(t)
	far := meta.GroupVersion{Group: "far.io", Version: "v1"}
	d.SetRemote([]*RemoteVersion{{GroupVersion: far, Resources: []apidiscoveryv2.APIResourceDiscovery{
		{Resource: "bare"},
		{Resource: "sails", ResponseKind: &meta.GroupVersionKind{Kind: "Sail"}, Scope: apidiscoveryv2.ScopeNamespace},
		{Resource: "masts", ResponseKind: &meta.GroupVersionKind{Kind: "Mast"}, Scope: apidiscoveryv2.ScopeCluster},
	}}})
	for gvk, want := range map[meta.GroupVersionKind]string{
		{Group: "a.io", Version: "v1", Kind: "Thing"}:  "things false true",
		{Group: "a.io", Version: "v1", Kind: "thing"}:  "things false true",
		{Group: "a.io", Version: "v1", Kind: "THING"}:  " false false",
		{Group: "a.io", Version: "v2", Kind: "Thing"}:  " false false",
		{Group: "x.io", Version: "v1", Kind: "Thing"}:  " false false",
		{Group: "far.io", Version: "v1", Kind: "Sail"}: "sails true true",
		{Group: "far.io", Version: "v1", Kind: "Mast"}: "masts false true",
		{Group: "far.io", Version: "v1", Kind: ""}:     " false false",
	} {
		resource, namespaced, ok := d.ResourceOf(gvk)
		if got := fmt.Sprint(resource, " ", namespaced, " ", ok); got != want {
			t.Errorf("%v: got %s, want %s", gvk, got, want)
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
		{"/apis", map[string]int{"GET": 200, "HEAD": 200, "PUT": 200, "DELETE": 200, "POST": 200}},
		{"/apis/a.io", map[string]int{"GET": 200, "HEAD": 200, "PUT": 200, "DELETE": 200, "POST": 200}},
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
	d.Install(things("new.io", "v1", 1, 0))
	code, body, h = d.get(t, "GET", "/apis", "Accept", aggregatedJSON, "If-None-Match", etag)
	if code != 200 || h.Get("ETag") == etag || !strings.Contains(body, "new.io") {
		t.Errorf("after a change: got %d, ETag %s, was %s", code, h.Get("ETag"), etag)
	}
	if _, plain, _ := d.get(t, "GET", "/apis"); !strings.Contains(plain, "new.io") {
		t.Errorf("after a change: the plain list is %s", plain)
	}
	d.Remove(things("new.io", "v1", 1, 0))
	d.Remove(things("never.io", "v1", 1, 0))
	if _, _, h = d.get(t, "GET", "/apis", "Accept", aggregatedJSON); h.Get("ETag") != etag {
		t.Errorf("after taking it back: ETag %s, want %s again", h.Get("ETag"), etag)
	}
}

func TestAggregatedDiscoveryForms(t *testing.T) {
	d := groups(t)
	_, params, _ := strings.Cut(aggregatedJSON, ";")
	as := func(typ string) string { return typ + ";" + params }
	const plain, none = "application/json", ""
	for _, tt := range []struct {
		accept, apis, api string // Content-Type of the answers; none: 406
	}{
		{aggregatedJSON, aggregatedJSON, aggregatedJSON},
		{"application/json," + aggregatedJSON, aggregatedJSON, aggregatedJSON}, // also as the second choice
		{"application/json," + aggregatedJSON + ";q=0.1", aggregatedJSON, aggregatedJSON},
		{"text/html," + aggregatedJSON, aggregatedJSON, aggregatedJSON},
		{aggregatedJSON + ";profile=nopeer", aggregatedJSON, aggregatedJSON},
		{as("application/yaml"), as("application/yaml"), as("application/yaml")},
		{as("application/vnd.kubernetes.protobuf"), as("application/vnd.kubernetes.protobuf"), as("application/vnd.kubernetes.protobuf")},
		{as("application/vnd.kubernetes.protobuf") + ";q=0.5," + aggregatedJSON, aggregatedJSON, aggregatedJSON},
		{as("*/*"), aggregatedJSON, aggregatedJSON},
		{as("application/*"), aggregatedJSON, none},
		{"application/*", plain, none},
		{strings.Replace(aggregatedJSON, "v2", "v2beta1", 1), none, none},
		{strings.Replace(aggregatedJSON, "v2", "v2beta1", 1) + ",application/json", plain, plain},
		{"application/json;as=APIGroupDiscoveryList", none, none},
		{aggregatedJSON + ";stream=watch", aggregatedJSON, aggregatedJSON},
		{aggregatedJSON + ";stream=x", none, none},
		{"", plain, plain},
		{";;;,,;=", none, none},
	} {
		for path, want := range map[string]string{"/apis": tt.apis, "/api": tt.api} {
			wantCode := 200
			if want == none {
				wantCode, want = 406, "application/json"
			}
			for range 2 { // made, and kept
				code, body, h := d.get(t, "GET", path, "Accept", tt.accept)
				if code != wantCode || h.Get("Content-Type") != want {
					t.Errorf("GET %s, Accept %q: got %d %s %.99q, want %d %s", path, tt.accept, code, h.Get("Content-Type"), body, wantCode, want)
				}
			}
		}
	}
	if _, body, _ := d.get(t, "GET", "/apis", "Accept", as("application/yaml")); !strings.HasPrefix(body, "apiVersion: apidiscovery.k8s.io/v2\nitems:\n- metadata:\n    name: first.io\n") {
		t.Errorf("YAML: got %s", body)
	}
	for path, accept := range map[string]string{"/apis": aggregatedJSON + ";pretty=1", "/apis/a.io": "application/json;pretty=1", "/apis/a.io/v1": "application/json;pretty=1"} {
		if _, body, _ := d.get(t, "GET", path, "Accept", accept); !strings.HasPrefix(body, "{\n  \"kind\"") {
			t.Errorf("GET %s, Accept %q: got %s, want it indented", path, accept, body)
		}
	}
}

// TestDiscoveryRefusals: clients that accept no media type of discovery get 406.
func TestDiscoveryRefusals(t *testing.T) {
	d := groups(t)
	const routed, unrouted = "406: Not Acceptable", "only the following media types are accepted"
	for path, want := range map[string]string{"/apis": unrouted, "/apis/a.io": unrouted, "/api": routed, "/api/v1": routed, "/apis/a.io/v1": routed} {
		if code, body, _ := d.get(t, "GET", path, "Accept", "text/html"); code != 406 || !strings.Contains(body, "\n  \"message\": \""+want) {
			t.Errorf("GET %s: got %d %s, want %q, indented", path, code, body, want)
		}
	}
}

// TestDiscoveryOrder installs groups and versions in several orders, with the same result.
func TestDiscoveryOrder(t *testing.T) {
	type gv struct {
		group, version                 string
		groupPriority, versionPriority int
	}
	for _, tt := range []struct {
		name string
		in   []gv
		want string
	}{
		{"Kubernetes' rule", []gv{{"g", "v1alpha1", 0, 0}, {"g", "v2", 0, 0}, {"g", "foo", 0, 0}, {"g", "v10", 0, 0}, {"g", "v2beta1", 0, 0}, {"g", "v1beta2", 0, 0}, {"g", "v1", 0, 0}},
			"g: v10 v2 v1 v2beta1 v1beta2 v1alpha1 foo"},
		{"stated order of versions", []gv{{"g", "v2", 0, 1}, {"g", "v1", 0, 2}, {"g", "v3", 0, 0}}, "g: v1 v2 v3"},
		{"groups by priority, then by name", []gv{{"b", "v1", 1, 0}, {"c", "v1", 2, 0}, {"a", "v1", 1, 0}}, "c: v1, a: v1, b: v1"},
		{"the highest priority of a group's versions", []gv{{"a", "v1", 1, 0}, {"b", "v1", 0, 0}, {"b", "v2", 2, 0}}, "b: v2 v1, a: v1"},
		{"a resource that is installed again with another order", []gv{{"g", "v2", 2, 2}, {"g", "v3", 0, 0}, {"g", "v2", 0, 0}, {"f", "v1", 1, 0}}, "f: v1, g: v3 v2"},
	} {
		d := NewDiscovery(testConfig(t).Codecs)
		for _, in := range tt.in {
			d.Install(things(in.group, in.version, in.groupPriority, in.versionPriority))
		}
		if got := d.summary(t); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestDiscoveryOrderOfParts: if one part of a version states a priority, it counts while that part
// is there.
func TestDiscoveryOrderOfParts(t *testing.T) {
	d := NewDiscovery(testConfig(t).Codecs)
	first := things("g", "v2", 2, 2)
	first.Resources[0].Name = "firsts"
	for _, gv := range []GroupVersion{first, things("g", "v3", 0, 0), things("g", "v2", 0, 0), things("f", "v1", 1, 0)} {
		d.Install(gv)
	}
	if got, want := d.summary(t), "g: v2 v3, f: v1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.Remove(first)
	if got, want := d.summary(t), "f: v1, g: v3 v2"; got != want {
		t.Errorf("without the first part: got %q, want %q", got, want)
	}
}

// summary returns what /apis lists.
func (d *Discovery) summary(tb testing.TB) string {
	var list meta.APIGroupList
	if _, body, _ := d.get(tb, "GET", "/apis"); json.Unmarshal([]byte(body), &list) != nil {
		tb.Fatal(body)
	}
	var groups []string
	for _, g := range list.Groups {
		line := g.Name + ":"
		for _, v := range g.Versions {
			line += " " + v.Version
		}
		groups = append(groups, line)
	}
	return strings.Join(groups, ", ")
}

// TestDiscoveryChange changes single resources of versions.
func TestDiscoveryChange(t *testing.T) {
	d := NewDiscovery(testConfig(t).Codecs)
	gv := func(version string, names ...string) []GroupVersion {
		v := GroupVersion{GroupVersion: meta.GroupVersion{Group: "g", Version: version}}
		for _, name := range names {
			v.Resources = append(v.Resources, Resource{Description: meta.Description{Name: name}})
		}
		return []GroupVersion{v}
	}
	for _, step := range []struct {
		name    string
		out, in []GroupVersion
		want    string // of v1
	}{
		{"install", nil, gv("v1", "b/status", "b", "b/scale"), "b b/scale b/status"},
		{"names around a slash", nil, gv("v1", "b-c", "a", "b0"), "a b b/scale b/status b-c b0"},
		{"replace, with other subresources", nil, gv("v1", "b", "b/exec"), "a b b/exec b-c b0"},
		{"remove one", gv("v1", "b"), nil, "a b-c b0"},
		{"remove what is not there", gv("v1", "x"), nil, "a b-c b0"},
		{"exchange", gv("v1", "a", "b-c"), gv("v1", "c"), "b0 c"},
		{"another version", nil, gv("v2", "b0"), "b0 c"},
		{"remove the rest", gv("v1", "b0", "c"), nil, ""},
	} {
		d.Change(step.out, step.in)
		var list meta.APIResourceList
		if code, body, _ := d.get(t, "GET", "/apis/g/v1"); code == 200 && json.Unmarshal([]byte(body), &list) != nil {
			t.Fatal(body)
		}
		var names []string
		for _, r := range list.APIResources {
			names = append(names, r.Name)
		}
		if got := strings.Join(names, " "); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if got := d.summary(t); got != "g: v2" {
		t.Errorf("after removing v1: got %q", got)
	}
	if got := strings.Join(d.Paths(), " "); got != "/apis /apis/g /apis/g/v2" {
		t.Errorf("Paths: got %q", got)
	}
}

// TestDiscoveryKeeps: a change makes only the documents that it concerns, and only when a request
// asks for them.
func TestDiscoveryKeeps(t *testing.T) {
	d := groups(t)
	aggregatedProto := strings.Replace(aggregatedJSON, "json", "vnd.kubernetes.protobuf", 1)
	read := func() *picture {
		for _, accept := range []string{aggregatedJSON, aggregatedProto, "application/json"} {
			for _, path := range append(d.Paths(), "/api", "/apis") {
				d.get(t, "GET", path, "Accept", accept)
			}
		}
		return d.now.Load()
	}
	before := read()
	d.Install(things("b.io", "v3", 10, 0))
	after := d.now.Load()
	for v := range before.versions {
		now := after.find(v.Group, v.Version)
		if now != v || now.doc.bodies[0].Load() == nil || now.part[0].Load() == nil || now.part[codec.Protobuf].Load() == nil {
			t.Errorf("%s: its documents are lost", v.GroupVersion)
		}
	}
	for name, g := range before.groups {
		if kept := after.groups[name] == g; kept != (name != "b.io") {
			t.Errorf("group %q: kept %v", name, kept)
		}
	}
	made := after.find("b.io", "v3")
	if made.doc.bodies[0].Load() != nil || made.part[0].Load() != nil || after.list.bodies[0].Load() != nil || after.aggregated[0][0].Load() != nil {
		t.Error("a change made documents")
	}
	d.Remove(things("b.io", "v9", 0, 0))
	d.Remove(GroupVersion{GroupVersion: made.GroupVersion, Resources: []Resource{{Description: meta.Description{Name: "others"}}}})
	if d.now.Load() != after {
		t.Error("a change that changes nothing made a new picture")
	}
}

// TestAggregatedParts compares the documents joined from parts with the encoding of the whole.
func TestAggregatedParts(t *testing.T) {
	d := groups(t)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: "empty.io", Version: "v1"}})
	p := d.now.Load()
	for _, legacy := range []bool{false, true} {
		list := &apidiscoveryv2.APIGroupDiscoveryList{Items: []apidiscoveryv2.APIGroupDiscovery{}}
		list.SetGroupVersionKind(listKind)
		for _, g := range p.groupsInOrder() {
			if (g.name == "") != legacy {
				continue
			}
			var versions []apidiscoveryv2.APIVersionDiscovery
			for _, v := range g.versions {
				versions = append(versions, v.aggregated())
			}
			list.Items = append(list.Items, *g.aggregated(versions))
		}
		for _, typ := range []codec.Type{codec.JSON, codec.Protobuf} {
			want, err := d.codecs.Append(nil, list, codec.Media{Type: typ})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.aggregatedDoc(legacy, typ)
			if err != nil || !bytes.Equal(got.body, want) {
				t.Errorf("legacy %v, type %v: got %q, %v, want %q", legacy, typ, got.body, err, want)
			}
		}
	}
	none, err := NewDiscovery(d.codecs).now.Load().aggregatedDoc(false, codec.JSON)
	if err != nil || !bytes.HasSuffix(none.body, []byte(`"items":[]}`+"\n")) {
		t.Errorf("without groups: got %s, %v", none.body, err)
	}
}

// BenchmarkDiscovery measures /apis after one group version has changed.
func BenchmarkDiscovery(b *testing.B) {
	for _, n := range []int{10, 600} {
		for name, header := range map[string]string{"plain": "application/json", "aggregated": aggregatedJSON} {
			b.Run(fmt.Sprintf("form=%s/groups=%d", name, n), func(b *testing.B) {
				d := NewDiscovery(testConfig(b).Codecs)
				for i := range n {
					d.Install(things(fmt.Sprintf("g%d.io", i), "v1", 0, 0))
				}
				changed := []GroupVersion{things("changed.io", "v1", 0, 0)}
				d.get(b, "GET", "/apis", "Accept", header)
				b.ReportAllocs()
				for b.Loop() {
					d.Change(nil, changed)
					if code, _, _ := d.get(b, "GET", "/apis", "Accept", header); code != 200 {
						b.Fatal(code)
					}
				}
			})
		}
	}
}
