package router

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/openapi"
	"github.com/coracle-project/coracle/scheme/schema"
)

func TestOpenAPI(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, &fake{})}})
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	v3 := http.HandlerFunc(o.ServeV3)
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
	tag, since := w.Header().Get("ETag"), w.Header().Get("Last-Modified")
	for _, tt := range []struct {
		header, value string
		want          int
	}{
		{"If-None-Match", tag, 304},
		{"If-None-Match", `"other", W/` + tag, 304},
		{"If-None-Match", "*", 304},
		{"If-None-Match", `"other"`, 200},
		{"If-Modified-Since", since, 304},
		{"If-Modified-Since", "Mon, 02 Jan 2006 15:04:05 GMT", 200},
		{"If-Modified-Since", "yesterday", 200},
	} {
		if again := serve(t, v3, "GET", url, "", tt.header, tt.value); again.Code != tt.want || again.Code == 304 && again.Body.Len() > 0 {
			t.Errorf("%s: %s: got %d, want %d", tt.header, tt.value, again.Code, tt.want)
		}
	}
	if old := serve(t, v3, "GET", "/openapi/v3/api/v1?hash=OLD", ""); old.Code != 301 || old.Header().Get("Location") != url {
		t.Errorf("with an old hash: got %d to %s, want 301 to %s", old.Code, old.Header().Get("Location"), url)
	}
	for _, path := range []string{"/openapi/v3/none", "/openapi/v3/v2", "/openapi/v3/v3", "/openapi/v3//v2", "/openapi/v3/v2proto"} {
		if w := serve(t, v3, "GET", path, ""); w.Code != 404 {
			t.Errorf("GET %s: got %d, want 404", path, w.Code)
		}
	}
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: "new.io", Version: "v1"}})
	if w := serve(t, v3, "GET", "/openapi/v3", ""); !strings.Contains(w.Body.String(), "apis/new.io/v1") {
		t.Errorf("after a change: %s", w.Body)
	}
}

// TestOpenAPIForms asks for both versions in each form, and in each encoding.
func TestOpenAPIForms(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{all("configmaps", true, &fake{})}})
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	for version, path := range map[string]string{"v2": "/openapi/v2", "v3": "/openapi/v3/api/v1"} {
		h := http.HandlerFunc(o.ServeV2)
		if version == "v3" {
			h = o.ServeV3
		}
		const json = "application/json"
		spec := "application/com.github.proto-openapi.spec." + version
		proto, at := spec+".v1.0+protobuf", spec+"@v1.0+protobuf"
		tag := ""
		for _, tt := range [][2]string{
			{"", json}, {"*/*", json}, {json, json}, {"application/*", json}, {proto, proto}, {at, proto},
			{at + ", application/json", proto}, {"application/json, " + at, json}, {"application/json;q=0.5, " + at + ";q=0.9", proto},
			{at + ";q=0.1, */*", json}, {"text/html, " + at + ";q=0.1", proto}, {"text/html", ""}, {spec, ""}, {at + "x", ""},
		} {
			accept, want := tt[0], tt[1]
			w := serve(t, h, "GET", path, "", "Accept", accept)
			if want == "" {
				if w.Code != 406 {
					t.Errorf("%s, Accept %q: got %d, want 406", version, accept, w.Code)
				}
				continue
			}
			if got := w.Header().Get("Content-Type"); w.Code != 200 || got != want || (w.Body.Bytes()[0] == '{') != (want == json) {
				t.Errorf("%s, Accept %q: got %d %s, want %s", version, accept, w.Code, got, want)
			}
			if tag = cmp.Or(tag, w.Header().Get("ETag")); w.Header().Get("ETag") != tag {
				t.Errorf("%s, Accept %q: another tag than for other forms", version, accept)
			}
			zipped := serve(t, h, "GET", path, "", "Accept", accept, "Accept-Encoding", "br, gzip")
			r, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(plain, w.Body.Bytes()) || zipped.Header().Get("Content-Encoding") != "gzip" {
				t.Errorf("%s, Accept %q: with gzip: %v, and it is the same: %v", version, accept, err, bytes.Equal(plain, w.Body.Bytes()))
			}
			if vary := w.Header().Values("Vary"); !slices.Equal(vary, []string{"Accept-Encoding", "Accept"}) {
				t.Errorf("%s: Vary %q", version, vary)
			}
			runtime.GC() // frees the unpacked documents
		}
	}
}

// TestOpenAPIKeeps shows which documents are made again after a change, and that the index keeps
// hashes only.
func TestOpenAPIKeeps(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	serving := func(group, name string) GroupVersion {
		res := all(name, true, &fake{})
		return GroupVersion{GroupVersion: meta.GroupVersion{Group: group, Version: "v1"}, Resources: []Resource{res}}
	}
	d.Install(serving("", "configmaps"))
	d.Install(serving("a.io", "things"))
	d.Install(serving("b.io", "things"))
	o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
	get := func(path string) []byte {
		return serve(t, http.HandlerFunc(o.ServeV3), "GET", "/openapi/v3"+path, "").Body.Bytes()
	}
	// kept returns all documents, which the test compares by address.
	kept := func() map[string]*schemaDoc {
		docs := map[string]*schemaDoc{}
		p := d.now.Load()
		for _, s := range o.allDescribed(p, (*RemoteVersion).madeV3) {
			if doc := s.slot().docs[jsonForm].Load(); doc != nil {
				docs[s.path()] = doc
			}
		}
		return docs
	}
	if docs := kept(); len(docs) > 0 {
		t.Errorf("before the first request there are documents: %v", docs)
	}
	first := string(get(""))
	if docs := kept(); len(docs) > 0 {
		t.Errorf("after the index there are documents: %v", docs)
	}
	for _, path := range []string{"api", "api/v1", "apis", "apis/a.io", "apis/a.io/v1", "apis/b.io", "apis/b.io/v1"} {
		if url := (openapi.Entry{Path: path, Hash: openapi.Hash(get("/" + path))}).URL(); !strings.Contains(first, `"`+url+`"`) {
			t.Errorf("the index lacks %s: %s", url, first)
		}
	}
	before := kept()
	get("/api/v1")
	if after := kept(); len(after) != 7 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("documents are made again: had %v, have %v", before, after)
	}
	index, v2 := d.now.Load().schemas.index.docs[jsonForm].Load().body(), o.v2(d.now.Load(), jsonForm).body()

	d.Install(serving("a.io", "others"))
	if after := kept(); after["apis/a.io/v1"] != nil || len(after) != len(before)-1 {
		t.Errorf("after a change: have %v, had %v", after, before)
	}
	if body := get("/apis/a.io/v1"); !strings.Contains(string(body), "others") {
		t.Errorf("the changed document: %.300s", body)
	}
	if again := get(""); string(again) == string(index) || !strings.Contains(string(again), "apis/b.io/v1") {
		t.Errorf("the index after the change: %s", again)
	}
	if again := o.v2(d.now.Load(), jsonForm).body(); string(again) == string(v2) {
		t.Error("version 2 is as before the change")
	}
	after := kept()
	for path, doc := range before {
		if same := after[path] == doc; same != (path != "apis/a.io/v1") {
			t.Errorf("%s: kept %v", path, same)
		}
	}
	d.Remove(serving("b.io", "things"))
	if w := serve(t, http.HandlerFunc(o.ServeV3), "GET", "/openapi/v3/apis/b.io/v1", ""); w.Code != 404 {
		t.Errorf("a version that is gone: got %d", w.Code)
	}
}

// TestOpenAPIModels: when one custom resource of a group changes, the schemas of the others are not
// read again for any document.
func TestOpenAPIModels(t *testing.T) {
	cfg := testConfig(t)
	d := NewDiscovery(cfg.Codecs)
	gv := meta.GroupVersion{Group: "a.io", Version: "v1"}
	read := [2]int{}
	install := func(i int, description string) {
		k, err := kind.Dynamic{GroupKind: meta.GroupKind{Group: gv.Group, Kind: fmt.Sprint("Thing", i)}, Versions: []kind.DynamicVersion{
			{Name: gv.Version, Load: func() *schema.Schema {
				read[i]++
				return &schema.Schema{Type: schema.Object, Description: description}
			}},
		}}.New()
		if err != nil {
			t.Fatal(err)
		}
		res := all(fmt.Sprintf("things%d", i), true, &fake{})
		res.Kind, res.Type, res.Custom = gv.WithKind(k.GroupKind().Kind), k, true
		status := res
		status.Name += "/status"
		d.Install(GroupVersion{GroupVersion: gv, Resources: []Resource{res, status}})
	}
	o := NewOpenAPI(openapi.Info{}, cfg.Codecs, d)
	ask := func(want [2]int, has ...string) {
		t.Helper()
		runtime.GC() // frees the schemas and documents that were read
		d.Install(GroupVersion{GroupVersion: meta.GroupVersion{Group: "b.io", Version: "v1"}, Resources: []Resource{all("things", true, &fake{})}})
		p := d.now.Load()
		o.index(p)
		runtime.GC()
		for _, doc := range []*schemaDoc{o.v2(p, jsonForm), o.doc(p.find(gv.Group, gv.Version), jsonForm)} {
			for _, text := range has {
				if !bytes.Contains(doc.body(), []byte(text)) {
					t.Errorf("a document lacks %q: %s", text, doc.body())
				}
			}
		}
		if read != want {
			t.Errorf("schemas were read %v times, want %v", read, want)
		}
	}
	install(0, "first")
	install(1, "second")
	ask([2]int{2, 2}, "first", "second") // once for each version
	ask([2]int{2, 2}, "first", "second")
	install(0, "third")
	ask([2]int{4, 2}, "third", "second")
}

// BenchmarkOpenAPI measures the index after one group version has changed: it makes the document of
// that version and the index of all documents.
func BenchmarkOpenAPI(b *testing.B) {
	for _, n := range []int{10, 300} {
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			cfg := testConfig(b)
			d := NewDiscovery(cfg.Codecs)
			serving := func(group string) []GroupVersion {
				return []GroupVersion{{GroupVersion: meta.GroupVersion{Group: group, Version: "v1"}, Resources: []Resource{all("things", true, &fake{})}}}
			}
			for i := range n {
				d.Change(nil, serving(fmt.Sprintf("g%d.io", i)))
			}
			o := NewOpenAPI(openapi.Info{Version: "v1"}, cfg.Codecs, d)
			o.index(d.now.Load())
			b.ReportAllocs()
			for b.Loop() {
				d.Change(nil, serving("g7.io"))
				if len(o.index(d.now.Load()).body()) == 0 {
					b.Fatal("no index")
				}
			}
		})
	}
}

// TestOpenAPIConnect describes connections by their methods and options, not as objects of the
// resource.
func TestOpenAPIConnect(t *testing.T) {
	gv := connected(&recordingConnecter{})
	shell := gv.Resources[1]
	shell.Name, shell.Kind = "things/shell", meta.GroupVersionKind{Group: "other.io", Version: "v7", Kind: "ShellOptions"} // a version that things lack
	gv.Resources = append(gv.Resources, shell)
	d := NewDiscovery(testConfig(t).Codecs)
	d.Install(gv)
	o := NewOpenAPI(openapi.Info{Title: "T", Version: "v0"}, d.codecs, d)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	w := serve(t, http.HandlerFunc(o.ServeV3), "GET", "/openapi/v3/api/v1", "")
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != 200 {
		t.Fatalf("got %d, %v", w.Code, err)
	}
	const a = "/api/v1/namespaces/{namespace}/things/{name}"
	for path, methods := range map[string]string{
		a + "/log": "get", a + "/log/{path}": "get", a + "/proxy/{path}": "delete get patch post put", a + "/shell": "get",
	} {
		var got []string
		for method, op := range doc.Paths[path] {
			if method == "parameters" {
				continue
			}
			if got = append(got, method); !strings.Contains(string(op), `"operationId":"connect`) {
				t.Errorf("%s %s: got %s", method, path, op)
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != methods {
			t.Errorf("%s: got %v, want %s", path, got, methods)
		}
	}
}

// TestSchemaSlotPanic makes a document again if the first attempt panicked.
func TestSchemaSlotPanic(t *testing.T) {
	var s schemaSlot
	func() {
		defer func() { recover() }()
		s.get(jsonForm, func([]byte) []byte { panic("no") }, nil)
	}()
	if got, made := s.get(jsonForm, func([]byte) []byte { return []byte("x") }, nil); !made || string(got.body()) != "x" || got.etag == "" {
		t.Errorf("got %q, %q", got.body(), got.etag)
	}
}
