package router

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// says makes a handler that answers with text.
func says(text string) handlerFunc {
	return func(w answer, _ *http.Request, info *request.Info) error {
		fmt.Fprintf(w, "%s %s %s/%s", text, info.Verb, info.Namespace, info.Name)
		return nil
	}
}

// Install and Remove change one group version.
func (rr *RESTRouter) Install(gv GroupVersion)        { rr.Change(nil, []GroupVersion{gv}) }
func (rr *RESTRouter) Remove(gv GroupVersion) Retired { return rr.Change([]GroupVersion{gv}, nil) }

// endpoints yields all installed endpoints.
func (rr *RESTRouter) endpoints(yield func(*endpoint) bool) {
	for _, resources := range *rr.routes.Load() {
		for _, r := range resources {
			for _, e := range r.subs {
				if !yield(e) {
					return
				}
			}
			if r.main != nil && !yield(r.main) {
				return
			}
		}
	}
}

// routerOfNames replaces the handlers of all endpoints by handlers that answer with their own
// names.
func routerOfNames(rr *RESTRouter) *RESTRouter {
	for e := range rr.endpoints {
		name := strings.ReplaceAll(e.res.Name, "/", "")
		for verb := range e.itemVerbs {
			e.itemVerbs[verb] = says("item " + name)
		}
		for verb := range e.collectionVerbs {
			e.collectionVerbs[verb] = says("list " + name)
		}
	}
	return rr
}

// TestRoutes is a table of paths and the handlers that serve them.
func TestRoutes(t *testing.T) {
	f := &fake{}
	status := Resource{Description: meta.Description{Name: "things/status", Kind: meta.GroupVersion{Version: "v1"}.WithKind("ConfigMap"), Namespaced: true}, Getter: f, Updater: f, Encoder: encoder{}}
	binding := Resource{Description: meta.Description{Name: "things/binding", Kind: status.Kind, Namespaced: true}, Creater: f, Encoder: encoder{}}
	readOnly := Resource{Description: meta.Description{Name: "signs", Kind: status.Kind}, Getter: f, Lister: f, Encoder: encoder{}}
	asked := Resource{Description: meta.Description{Name: "asks", Kind: status.Kind, Namespaced: true}, Creater: f, Encoder: encoder{}}
	review := Resource{Description: meta.Description{Name: "reviews", Kind: status.Kind}, Creater: f, Encoder: encoder{}}
	rr := NewRESTRouter(testConfig(t))
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{
		all("things", true, f), status, binding, readOnly, asked, review, all("nodes", false, f), all("namespaces", false, f)}})
	routerOfNames(rr)
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/api/v1/things", "list things list /"},
		{"GET", "/api/v1/namespaces/ns/things", "list things list ns/"},
		{"GET", "/api/v1/namespaces/ns/things/", "list things list ns/"},
		{"GET", "/api/v1/namespaces/ns/things?watch=1", "list things watch ns/"},
		{"GET", "/api/v1/namespaces/ns/things?fieldSelector=metadata.name%3Da", "list things list ns/a"},
		{"POST", "/api/v1/namespaces/ns/things", "list things create ns/"},
		{"DELETE", "/api/v1/namespaces/ns/things", "list things deletecollection ns/"},
		{"POST", "/api/v1/things", "405"},
		{"DELETE", "/api/v1/things", "405"},
		{"PUT", "/api/v1/namespaces/ns/things", "405"},
		{"PATCH", "/api/v1/namespaces/ns/things", "405"},
		{"GET", "/api/v1/namespaces/ns/things/a", "item things get ns/a"},
		{"PUT", "/api/v1/namespaces/ns/things/a", "item things update ns/a"},
		{"PATCH", "/api/v1/namespaces/ns/things/a", "item things patch ns/a"},
		{"DELETE", "/api/v1/namespaces/ns/things/a", "item things delete ns/a"},
		{"POST", "/api/v1/namespaces/ns/things/a", "405"},
		{"HEAD", "/api/v1/namespaces/ns/things/a", "405"},
		{"HEAD", "/api/v1/namespaces/ns/things", "405"},
		{"HEAD", "/api/v1/namespaces/ns/things?watch=1", "405"},
		{"OPTIONS", "/api/v1/namespaces/ns/things/a", "405"},
		{"FOO", "/api/v1/namespaces/ns/things", "405"},
		{"GET", "/api/v1/things/a", "404"},
		{"GET", "/api/v1/namespaces/ns/things/a/status", "item thingsstatus get ns/a"},
		{"PUT", "/api/v1/namespaces/ns/things/a/status", "item thingsstatus update ns/a"},
		{"DELETE", "/api/v1/namespaces/ns/things/a/status", "405"},
		{"POST", "/api/v1/namespaces/ns/things/a/binding", "item thingsbinding create ns/a"},
		{"GET", "/api/v1/namespaces/ns/things/a/binding", "405"},
		{"GET", "/api/v1/namespaces/ns/things/a/scale", "404"},
		{"GET", "/api/v1/namespaces/ns/things/a/status/b", "404"},
		{"GET", "/api/v1/namespaces/ns/things//status", "400"},
		{"GET", "/api/v1/nodes", "list nodes list /"},
		{"GET", "/api/v1/nodes/a", "item nodes get /a"},
		{"GET", "/api/v1/namespaces/ns/nodes", "404"},
		{"GET", "/api/v1/namespaces/ns/nodes/a", "404"},
		{"POST", "/api/v1/nodes", "list nodes create /"},
		{"GET", "/api/v1/namespaces", "list namespaces list /"},
		{"GET", "/api/v1/namespaces/ns", "item namespaces get ns/ns"},
		{"DELETE", "/api/v1/namespaces/ns", "item namespaces delete ns/ns"},
		{"GET", "/api/v1/signs", "list signs list /"},
		{"GET", "/api/v1/signs?watch=1", "405"},
		{"POST", "/api/v1/signs", "405"},
		{"PUT", "/api/v1/signs/a", "405"},
		{"POST", "/api/v1/reviews", "list reviews create /"},
		{"GET", "/api/v1/reviews", "405"},
		{"GET", "/api/v1/reviews/a", "404"},
		{"PUT", "/api/v1/reviews/a", "404"},
		{"HEAD", "/api/v1/reviews/a", "404"},
		{"POST", "/api/v1/namespaces/ns/asks", "list asks create ns/"},
		{"GET", "/api/v1/namespaces/ns/asks", "405"},
		{"DELETE", "/api/v1/namespaces/ns/asks/a", "404"},
		{"POST", "/api/v1/asks", "404"},
		{"GET", "/api/v1/asks", "404"},
		{"GET", "/api/v1/others", "404"},
		{"GET", "/api/v2/things", "404"},
		{"GET", "/apis/g/v1/things", "404"},
		{"GET", "/api/v1/watch/things", "list things watch /"},
		{"GET", "/api/v1/watch/namespaces/ns/things/a", "item things watch ns/a"},
		{"POST", "/api/v1/watch/things", "405"},
		{"GET", "/api/v1/proxy/namespaces/ns/things/a", "404"},
	} {
		w := serve(t, rr, tt.method, tt.path, "")
		got := w.Body.String()
		if w.Code != http.StatusOK {
			got = fmt.Sprint(w.Code)
			if s := w.Body.String(); tt.method != "HEAD" && !strings.Contains(s, `"kind":"Status"`) {
				t.Errorf("%s %s: %d with body %s, want a Status", tt.method, tt.path, w.Code, s)
			}
		}
		if got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.method, tt.path, got, tt.want)
		}
	}
	w := httptest.NewRecorder()
	rr.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/things", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a request without Info: got %d, want 404", w.Code)
	}
}

func TestChange(t *testing.T) {
	rr := NewRESTRouter(testConfig(t))
	v1, v2 := meta.GroupVersion{Group: "g", Version: "v1"}, meta.GroupVersion{Group: "g", Version: "v2"}
	// served is a resource whose getter answers with the text.
	served := func(name, text string) Resource { return all(name, false, &fake{err: meta.NewBadRequest(text)}) }
	gv := func(v meta.GroupVersion, resources ...Resource) GroupVersion {
		return GroupVersion{GroupVersion: v, Resources: resources}
	}
	status := Resource{Description: meta.Description{Name: "things/status", Kind: v1.WithKind("ConfigMap")}, Getter: &fake{err: meta.NewBadRequest("status")}, Encoder: encoder{}}
	for _, step := range []struct {
		name    string
		out, in []GroupVersion
		retired int
		want    map[string]string // what the error says at a path
	}{
		{"install", nil, []GroupVersion{gv(v1, served("things", "one"), status), gv(v2, served("things", "two"))}, 0,
			map[string]string{"v1/things": "one", "v1/things/a/status": "status", "v2/things": "two", "v2/things/a/status": "", "v1/others": ""}},
		{"one more in a version", nil, []GroupVersion{gv(v1, served("others", "others"))}, 0,
			map[string]string{"v1/things": "one", "v1/others": "others"}},
		{"replace, without the subresource", nil, []GroupVersion{gv(v1, served("things", "three"))}, 1,
			map[string]string{"v1/things": "three", "v1/things/a/status": "", "v1/others": "others"}},
		{"move from a version to another", []GroupVersion{gv(v2, Resource{Description: meta.Description{Name: "things"}})}, []GroupVersion{gv(v2, served("others", "new"))}, 1,
			map[string]string{"v2/things": "", "v2/others": "new", "v1/things": "three"}},
		{"remove one", []GroupVersion{gv(v1, Resource{Description: meta.Description{Name: "things"}})}, nil, 1,
			map[string]string{"v1/things": "", "v1/others": "others"}},
		{"remove what is not there", []GroupVersion{gv(v1, Resource{Description: meta.Description{Name: "things"}}), gv(meta.GroupVersion{Group: "h", Version: "v1"}, Resource{Description: meta.Description{Name: "things"}})}, nil, 0,
			map[string]string{"v1/others": "others"}},
		{"remove the rest", []GroupVersion{gv(v1, Resource{Description: meta.Description{Name: "others"}}), gv(v2, Resource{Description: meta.Description{Name: "others"}})}, nil, 2,
			map[string]string{"v1/others": "", "v2/others": ""}},
	} {
		retired := rr.Change(step.out, step.in)
		if len(retired) != step.retired {
			t.Errorf("%s: got %d retired, want %d", step.name, len(retired), step.retired)
		}
		if err := retired.Wait(t.Context()); err != nil { // no request is running
			t.Errorf("%s: %v", step.name, err)
		}
		for path, want := range step.want {
			if !strings.Contains(path, "/a/") {
				path += "/a"
			}
			w := serve(t, rr, "GET", "/apis/g/"+path, "")
			if want == "" && w.Code != 404 || want != "" && !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: GET %s: got %d %s, want %q", step.name, path, w.Code, w.Body, want)
			}
		}
	}
	if n := len(*rr.routes.Load()); n != 0 {
		t.Errorf("after everything was removed, %d group versions are left", n)
	}
}

// TestChangesWhileServing installs and removes while requests are served. The race detector must
// find nothing.
func TestChangesWhileServing(t *testing.T) {
	rr, d := NewRESTRouter(testConfig(t)), NewDiscovery(testConfig(t).Codecs)
	director := &Director{REST: rr, Discovery: d, Prefix: NewPrefixMux()}
	gv := GroupVersion{GroupVersion: meta.GroupVersion{Group: "g", Version: "v1"}, Resources: []Resource{{Description: meta.Description{Name: "things"}, Encoder: encoder{}}}}
	gvs := []GroupVersion{gv}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				serve(t, director, "GET", "/apis/g/v1/things", "")
				serve(t, director, "GET", "/apis", "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
				serve(t, director, "GET", "/apis/g", "")
				serve(t, director, "GET", "/x/y", "")
			}
		})
	}
	for range 200 {
		rr.Change(nil, gvs)
		d.Change(nil, gvs)
		if err := director.Prefix.Handle("/x/", says("x")); err != nil {
			t.Error(err)
		}
		d.Change(gvs, nil)
		rr.Change(gvs, nil)
		director.Prefix.Remove("/x/")
	}
	wg.Wait()
}

// BenchmarkMatch shows that finding a resource costs the same however many there are.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		rr := NewRESTRouter(testConfig(b))
		gv := GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}}
		for i := range n {
			gv.Resources = append(gv.Resources, all(fmt.Sprintf("things%d", i), true, &fake{}))
		}
		rr.Install(gv)
		nothing := handlerFunc(func(answer, *http.Request, *request.Info) error { return nil })
		for e := range rr.endpoints {
			e.itemVerbs["get"], e.collectionVerbs["list"] = nothing, nothing
		}
		for form, path := range map[string]string{"item": "/api/v1/namespaces/ns/things%d/a", "collection": "/api/v1/namespaces/ns/things%d"} {
			b.Run(fmt.Sprintf("form=%s/resources=%d", form, n), func(b *testing.B) {
				r, _ := parsed(b, "GET", fmt.Sprintf(path, n-1), "")
				w := httptest.NewRecorder()
				b.ReportAllocs()
				for b.Loop() {
					rr.ServeHTTP(w, r)
				}
			})
		}
	}
}
