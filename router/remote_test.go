package router

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
)

// remoteVersionOf returns a version with one resource that an aggregated server serves.
func remoteVersionOf(group, version string, groupPriority, versionPriority int) *RemoteVersion {
	gv := meta.GroupVersion{Group: group, Version: version}
	path := "apis/" + gv.String()
	return &RemoteVersion{
		GroupVersion: gv, GroupPriority: groupPriority, VersionPriority: versionPriority,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{
			Resource: "remotes", ResponseKind: &meta.GroupVersionKind{Kind: "Remote"}, Scope: apidiscoveryv2.ScopeCluster, Verbs: []string{"get"},
		}},
		Schemas: []openapi.Entry{{Path: path, Hash: "AB"}, {Path: "apis/" + group, Hash: "CD"}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "from ", gv, " ", r.URL) }),
	}
}

// items are what /apis shows in the aggregated form.
func (d *Discovery) items(tb testing.TB) string {
	tb.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version, Freshness string
				Resources          []struct{ Resource string }
			}
		}
	}
	if _, body, _ := d.get(tb, "GET", "/apis", "Accept", aggregatedJSON); json.Unmarshal([]byte(body), &list) != nil {
		tb.Fatal(body)
	}
	var groups []string
	for _, g := range list.Items {
		line := g.Metadata.Name + ":"
		for _, v := range g.Versions {
			line += " " + v.Version + "=" + v.Freshness[:1]
			for _, r := range v.Resources {
				line += "," + r.Resource
			}
		}
		groups = append(groups, line)
	}
	return strings.Join(groups, "; ")
}

func TestRemoteDiscovery(t *testing.T) {
	d := NewDiscovery(testConfig(t).Codecs)
	d.Install(things("a.io", "v1", 10, 0))
	d.Install(things("b.io", "v1", 10, 0))
	stale := remoteVersionOf("a.io", "v2", 5, 0)
	stale.Stale, stale.Resources = true, nil
	for _, step := range []struct {
		name                string
		do                  func()
		plain, everythingAt string
	}{
		{"none", func() { d.SetRemote(nil) }, "a.io: v1, b.io: v1", "a.io: v1=C,things; b.io: v1=C,things"},
		{"a group of its own, first", func() { d.SetRemote([]*RemoteVersion{remoteVersionOf("c.io", "v1", 20, 0)}) },
			"c.io: v1, a.io: v1, b.io: v1", "c.io: v1=C,remotes; a.io: v1=C,things; b.io: v1=C,things"},
		{"a second version, stale, and one that is served here too", func() {
			d.SetRemote([]*RemoteVersion{stale, remoteVersionOf("b.io", "v1", 30, 0), remoteVersionOf("", "v1", 1, 1)})
		}, "b.io: v1, a.io: v2 v1", "b.io: v1=C,remotes; a.io: v2=S v1=C,things"},
		{"a change here", func() { d.Remove(things("a.io", "v1", 0, 0)); d.Install(things("d.io", "v1", 40, 0)) },
			"d.io: v1, b.io: v1, a.io: v2", "d.io: v1=C,things; b.io: v1=C,remotes; a.io: v2=S"},
		{"gone", func() { d.SetRemote(nil) }, "d.io: v1, b.io: v1", "d.io: v1=C,things; b.io: v1=C,things"},
	} {
		step.do()
		if got := d.summary(t); got != step.plain {
			t.Errorf("%s: /apis lists %q, want %q", step.name, got, step.plain)
		}
		if got := d.items(t); got != step.everythingAt {
			t.Errorf("%s: aggregated: %q, want %q", step.name, got, step.everythingAt)
		}
	}
}

// TestRemoteDocuments: /apis/{group} and the index of paths show a remote version, but its resource
// list is served by its own server.
func TestRemoteDocuments(t *testing.T) {
	d := NewDiscovery(testConfig(t).Codecs)
	d.SetRemote([]*RemoteVersion{remoteVersionOf("a.io", "v1", 0, 0)})
	if code, body, _ := d.get(t, "GET", "/apis/a.io"); code != 200 || !strings.Contains(body, `"preferredVersion":{"groupVersion":"a.io/v1","version":"v1"}`) {
		t.Errorf("/apis/a.io: %d %s", code, body)
	}
	if code, body, _ := d.get(t, "GET", "/apis/a.io/v1"); code != 0 {
		t.Errorf("/apis/a.io/v1: %d %s, want nothing", code, body)
	}
	if got := strings.Join(d.Paths(), " "); got != "/apis /apis/a.io /apis/a.io/v1" {
		t.Errorf("Paths: %s", got)
	}
	if _, known := d.GroupOf("/apis/a.io/v9/x", nil); !known {
		t.Error("the group is not known")
	}
}

// TestRemoteKeeps: unchanged versions keep their documents. Without remote versions, SetRemote
// makes no new picture.
func TestRemoteKeeps(t *testing.T) {
	d := groups(t)
	before := d.now.Load()
	d.SetRemote(nil)
	if d.now.Load() != before {
		t.Error("no remote versions made a new picture")
	}
	stays, goes := remoteVersionOf("r.io", "v1", 0, 0), remoteVersionOf("r.io", "v2", 0, 0)
	d.SetRemote([]*RemoteVersion{stays, goes})
	d.items(t)
	with := d.now.Load()
	for v := range before.versions {
		if with.find(v.Group, v.Version) != v {
			t.Errorf("%s: its documents are lost", v.GroupVersion)
		}
	}
	d.SetRemote([]*RemoteVersion{stays, goes})
	if d.now.Load() != with {
		t.Error("the same remote versions made a new picture")
	}
	d.SetRemote([]*RemoteVersion{stays})
	d.Install(things("b.io", "v3", 10, 0))
	now := d.now.Load()
	if v := now.find("r.io", "v1"); v != with.find("r.io", "v1") || v.part[codec.JSON].Load() == nil {
		t.Error("the documents of a remote version that stays are lost")
	}
	if now.find("r.io", "v2") != nil {
		t.Error("a remote version stayed")
	}
	d.SetRemote(nil)
	d.Remove(things("b.io", "v3", 10, 0))
	if now := d.now.Load(); now.remote != nil || now.find("first.io", "v1") != before.find("first.io", "v1") {
		t.Error("without remote versions the picture is not what it was")
	}
}

func TestRemoteSchemas(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	for _, group := range []string{"a.io", "b.io"} {
		gv := meta.GroupVersion{Group: group, Version: "v1"}
		d.Install(GroupVersion{GroupVersion: gv, Resources: []Resource{all("things", true, &fake{})}})
	}
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	get := func(path string) (int, string) {
		w := serve(t, http.HandlerFunc(o.ServeV3), "GET", "/openapi/v3"+path, "")
		body, _ := io.ReadAll(w.Body)
		return w.Code, string(body)
	}
	_, without := get("")
	first := remoteVersionOf("c.io", "v1", 0, 0)
	greedy := remoteVersionOf("c.io", "v2", 0, 0)
	greedy.Schemas = append(greedy.Schemas, openapi.Entry{Path: "apis/a.io/v1", Hash: "EF"}, openapi.Entry{Path: "apis", Hash: "01"})
	d.SetRemote([]*RemoteVersion{first, greedy, remoteVersionOf("b.io", "v1", 0, 0)})
	_, index := get("")
	for path, want := range map[string]string{
		"apis/c.io/v1": "AB", "apis/c.io/v2": "AB", "apis/c.io": "CD", "apis/b.io/v1": "AB", "apis/b.io": "CD",
	} {
		if url := `"` + path + `":{"serverRelativeURL":"/openapi/v3/` + path + `?hash=` + want + `"}`; strings.Count(index, url) != 1 {
			t.Errorf("the index lacks %s: %s", url, index)
		}
	}
	for _, path := range []string{"apis/a.io/v1", "apis/a.io", "apis"} { // this server's entries stay as they were
		at := strings.Index(without, `"`+path+`"`)
		entry := without[at : at+strings.IndexByte(without[at:], '}')]
		if strings.Count(index, entry) != 1 || strings.Count(index, `"`+path+`"`) != 1 {
			t.Errorf("%s is not what it was: %s", entry, index)
		}
		if code, body := get("/" + path); code != 200 || !strings.HasPrefix(body, "{") {
			t.Errorf("%s: %d %.100s", path, code, body)
		}
	}
	for path, want := range map[string]string{
		"/apis/c.io/v1?hash=AB": "from c.io/v1 /openapi/v3/apis/c.io/v1?hash=AB",
		"/apis/c.io":            "from c.io/v1 /openapi/v3/apis/c.io",
		"/apis/b.io/v1":         "from b.io/v1 /openapi/v3/apis/b.io/v1",
	} {
		if code, body := get(path); code != 200 || body != want {
			t.Errorf("%s: %d %s, want %s", path, code, body, want)
		}
	}
	d.SetRemote(nil)
	if _, again := get(""); again != without {
		t.Errorf("without remote versions the index is %s, was %s", again, without)
	}
}

// remoteWithV2 returns a remote version with an OpenAPI v2 document.
func remoteWithV2(group string) *RemoteVersion {
	v := remoteVersionOf(group, "v1", 0, 0)
	v.V2 = NewRemoteV2([]byte(`{"definitions":{},"parameters":{},"paths":{"/apis/` + group + `/v1/":{"get":{"responses":{"200":{"description":"OK"}}}}}}`))
	return v
}

// TestRemoteV2 merges the OpenAPI v2 of remote versions, and keeps the result while they stay the
// same.
func TestRemoteV2(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, &fake{})}})
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	var others []*RemoteVersion
	asked, made := 0, 0
	o.AskRemote = func(_ context.Context, noV3 bool) {
		if noV3 {
			t.Error("only some are asked")
		}
		asked++
		d.SetRemote(others)
	}
	o.Made = func() { made++ }
	get := func(header ...string) string {
		w := serve(t, http.HandlerFunc(o.ServeV2), "GET", "/openapi/v2", "", header...)
		if w.Code != 200 {
			t.Errorf("got %d", w.Code)
		}
		return w.Body.String()
	}
	without := get()
	if asked > 0 {
		t.Error("others are asked, though there are none")
	}
	others = []*RemoteVersion{remoteVersionOf("a.io", "v1", 0, 0)}
	d.SetRemote(others)
	if got := get(); asked == 0 || got != without {
		t.Errorf("others that say nothing, asked %d times, changed the document", asked)
	}
	others = []*RemoteVersion{remoteWithV2("a.io")}
	with := get()
	if !strings.Contains(with, `"/apis/a.io/v1/":`) || !strings.Contains(with, `"/api/v1/namespaces/{namespace}/configmaps":`) {
		t.Errorf("with others: %.500s", with)
	}
	if got := get("Accept", protoV2+newEnd); !strings.Contains(got, "/apis/a.io/v1/") {
		t.Error("the protobuf form lacks what others have")
	}
	before := made
	if get(); made != before {
		t.Error("what has not changed is merged again")
	}
	others = append(others, remoteWithV2("b.io"))
	if got := get(); !strings.Contains(got, `"/apis/a.io/v1/":`) || !strings.Contains(got, `"/apis/b.io/v1/":`) {
		t.Errorf("with one more: %.500s", got)
	}
	others = nil
	if got := get(); got != without {
		t.Error("without the remote versions, the document is not what it was")
	}
}

// TestRemoteNoV3 makes OpenAPI v3 documents from the v2 of a server that has no v3.
func TestRemoteNoV3(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, &fake{})}})
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	silent, made := remoteVersionOf("a.io", "v1", 0, 0), 0
	silent.Schemas, silent.NoV3 = nil, true
	speaks := *silent
	speaks.V2 = remoteWithV2("a.io").V2
	var asked int
	o.AskRemote = func(_ context.Context, noV3 bool) {
		asked++
		if noV3 {
			d.SetRemote([]*RemoteVersion{&speaks})
		}
	}
	o.Made = func() { made++ }
	get := func(path string, header ...string) *httptest.ResponseRecorder {
		t.Helper()
		return serve(t, http.HandlerFunc(o.ServeV3), "GET", "/openapi/v3"+path, "", header...)
	}
	without := get("").Body.String()
	d.SetRemote([]*RemoteVersion{remoteVersionOf("b.io", "v1", 0, 0)})
	get("")
	get("/apis/none/v1")
	if asked > 0 {
		t.Error("others are asked, though they know version 3")
	}
	d.SetRemote([]*RemoteVersion{silent})
	get("/api/v1")
	if asked > 0 {
		t.Error("others are asked, though the document is of this server")
	}
	index := get("").Body.String()
	var entries struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal([]byte(index), &entries); err != nil {
		t.Fatal(err)
	}
	address := entries.Paths["apis/a.io/v1"].ServerRelativeURL
	if len(entries.Paths) != 1+strings.Count(without, "serverRelativeURL") || !strings.Contains(address, "?hash=") {
		t.Fatalf("the index: %s", index)
	}
	path := strings.TrimPrefix(address, "/openapi/v3")
	w := get(path)
	if body := w.Body.String(); w.Code != 200 || w.Header().Get("Cache-Control") == "" || !strings.Contains(body, `"openapi":"3.0.0"`) || !strings.Contains(body, `"/apis/a.io/v1/":`) {
		t.Errorf("the document: %d %v %s", w.Code, w.Header(), body)
	}
	if w := get("/apis/a.io/v1?hash=OLD"); w.Code != 301 || w.Header().Get("Location") != address {
		t.Errorf("with an old hash: %d %v", w.Code, w.Header())
	}
	if w := get(path, "Accept", protoV3+newEnd); w.Code != 200 || !strings.Contains(w.Body.String(), "/apis/a.io/v1/") {
		t.Errorf("as protobuf: %d", w.Code)
	}
	before, stale := made, speaks
	stale.Stale = true
	d.SetRemote([]*RemoteVersion{&stale})
	if w := get(path); w.Code != 200 || made != before {
		t.Errorf("%d: the document of an unchanged version was made again", w.Code)
	}
	d.SetRemote([]*RemoteVersion{silent})
	if w := get(path); w.Code != 200 {
		t.Errorf("%d: a document that is not there is not asked for", w.Code)
	}
	if w := get("/apis/a.io/v2"); w.Code != 404 {
		t.Errorf("no document: %d", w.Code)
	}
	d.SetRemote(nil)
	if again := get("").Body.String(); again != without {
		t.Errorf("without remote versions the index is %s, was %s", again, without)
	}
}
