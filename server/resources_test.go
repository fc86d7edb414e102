package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// withKinds registers the kind of config maps in further groups, without resources.
func withKinds(groups int) func(*server.Config) {
	return func(c *server.Config) {
		c.API.Core = true
		for i := range groups {
			name := testGroup(i)
			c.API.Groups = append(c.API.Groups, server.Group{Name: name, AddToScheme: func(s *scheme.Scheme) {
				for _, v := range []string{"v1", "v2"} {
					s.AddKnownTypes(meta.GroupVersion{Group: name, Version: v}, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
				}
			}})
		}
	}
}

func testGroup(i int) string { return fmt.Sprintf("test%d.io", i) }

// widgets declares a resource of config maps with another name and group.
func widgets(group, plural string, change ...func(*registry.ResourceOf[*corev1.ConfigMap])) registry.Resource {
	r := registry.ResourceOf[*corev1.ConfigMap]{
		GroupResource: meta.GroupResource{Group: group, Resource: plural}, Kind: "ConfigMap", Namespaced: true,
	}
	for _, f := range change {
		f(&r)
	}
	return registry.Typed(r)
}

// install installs resources of one group.
func (p *inProcess) install(resources ...registry.Resource) {
	p.TB.Helper()
	if err := p.Install(p.Core, server.Group{Name: resources[0].GroupResource.Group, Resources: resources}); err != nil {
		p.TB.Fatal(err)
	}
}

// remove removes a resource, and waits until its removal is complete.
func (p *inProcess) remove(gr meta.GroupResource) {
	p.TB.Helper()
	gone, err := p.Remove(gr)
	if err != nil {
		p.TB.Fatal(err)
	}
	<-gone
}

// check fails the test unless GET answers with code and a body that contains want.
func (p *inProcess) check(path string, code int, want string) {
	p.TB.Helper()
	if got, body := p.do("GET", path, ""); got != code || !strings.Contains(body, want) {
		p.TB.Errorf("GET %s: got %d %s, want %d %s", path, got, body, code, want)
	}
}

const (
	v1Widgets = "/apis/test0.io/v1/namespaces/ns/widgets"
	v2Widgets = "/apis/test0.io/v2/namespaces/ns/widgets"
)

var widgetsName = meta.GroupResource{Group: "test0.io", Resource: "widgets"}

// TestStoreReadsAreShown: the first read of a resource is served from the store, because its cache
// is not loaded.
func TestStoreReadsAreShown(t *testing.T) {
	p := newInProcess(t, withKinds(1))
	p.install(widgets("test0.io", "widgets"))
	p.check(v1Widgets+"/none", 404, "not found")
	p.check("/metrics", 200, `coracle_cache_store_reads_total{reason="loading",resource="widgets.test0.io"} 1`)
}

// TestResourcesComeAndGo installs a resource, removes it and installs it again.
func TestResourcesComeAndGo(t *testing.T) {
	p := newInProcess(t, withKinds(1))
	p.check("/apis/test0.io/v1", 404, "404 page not found")
	p.check("/apis", 200, `"coordination.k8s.io"`)
	p.check("/openapi/v3", 200, "api/v1")

	p.install(widgets("test0.io", "widgets"))
	p.mustDo("POST", v1Widgets, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	p.check(v2Widgets+"/a", 200, `"apiVersion":"test0.io/v2"`)
	p.check("/apis", 200, `"versions":[{"groupVersion":"test0.io/v2","version":"v2"},{"groupVersion":"test0.io/v1","version":"v1"}]`)
	p.check("/apis/test0.io/v1", 200, `"name":"widgets"`)
	p.check("/openapi/v3", 200, "apis/test0.io/v1")
	p.check("/openapi/v3/apis/test0.io/v1", 200, "/namespaces/{namespace}/widgets/{name}")
	p.check("/metrics", 200, `etcd_requests_total{group="test0.io",operation="write",resource="widgets"} 1`)
	p.check("/metrics", 200, `apiserver_storage_objects{resource="widgets.test0.io"} 1`)
	p.check("/metrics", 200, `apiserver_request_total{code="201",component="apiserver",dry_run="",group="test0.io",resource="widgets"`)
	store := p.Store(widgetsName)
	if gr, ok := p.ResourceOf(meta.GroupKind{Group: "test0.io", Kind: "ConfigMap"}); !ok || gr != widgetsName {
		t.Errorf("ResourceOf: got %v, %v", gr, ok)
	}

	p.remove(widgetsName)
	for _, path := range []string{v1Widgets, v2Widgets + "/a", "/apis/test0.io/v1", "/apis/test0.io"} {
		p.check(path, 404, "404 page not found")
	}
	p.check("/openapi/v3/apis/test0.io/v1", 404, "")
	for _, path := range []string{"/apis", "/openapi/v3", "/metrics", "/openapi/v2", "/"} {
		if _, body := p.do("GET", path, ""); strings.Contains(body, "test0.io/") || strings.Contains(body, "widgets") {
			t.Errorf("GET %s: it is still there", path)
		}
	}
	if _, err := store.Get(t.Context(), "ns", "a", ""); err == nil || p.Store(widgetsName) != nil {
		t.Errorf("a store that was kept: got %v, want an error", err)
	}
	if _, err := store.Objects().Create(t.Context(), "/registry/test0.io/widgets/ns/b",
		[]byte(`{"kind":"ConfigMap","apiVersion":"test0.io/v2","metadata":{"name":"b","namespace":"ns"}}`), 0); err == nil {
		t.Error("a removed store still writes, and its values cannot be encrypted")
	}

	p.install(widgets("test0.io", "widgets"))
	p.check(v1Widgets+"/a", 200, `"k":"v"`) // the stored objects are still there
}

func TestInstallErrors(t *testing.T) {
	p := newInProcess(t, withKinds(2))
	p.install(widgets("test0.io", "widgets"))
	for _, tt := range []struct {
		name  string
		group server.Group
		want  string
	}{
		{"taken", server.Group{Name: "test0.io", Resources: []registry.Resource{widgets("test0.io", "widgets")}}, "there is a resource widgets.test0.io already"},
		{"twice", server.Group{Name: "test0.io", Resources: []registry.Resource{widgets("test0.io", "x"), widgets("test0.io", "x")}}, "there is a resource x.test0.io already"},
		{"another group", server.Group{Name: "test1.io", Resources: []registry.Resource{widgets("test0.io", "y")}}, `not of group "test1.io"`},
		{"unknown kind", server.Group{Name: "test0.io", Resources: []registry.Resource{widgets("test0.io", "y", func(r *registry.ResourceOf[*corev1.ConfigMap]) { r.Kind = "None" })}}, "None"},
		{"same keys", server.Group{Name: "extensions", Resources: []registry.Resource{widgets("extensions", "events", func(r *registry.ResourceOf[*corev1.ConfigMap]) { r.Type = p.Store(widgetsName).Kind() })}}, "overlap with those of events"},
		{"shares nothing", server.Group{Name: "test1.io", Shared: []meta.GroupResource{{Resource: "none"}}}, "does not exist"},
		{"shares another kind", server.Group{Name: "test1.io", Shared: []meta.GroupResource{{Resource: "pods"}}}, "is not registered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := p.Install(p.Core, tt.group); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	none := meta.GroupResource{Group: "test0.io", Resource: "none"}
	if _, err := p.Remove(none); err == nil {
		t.Error("Remove of a resource that does not exist: no error")
	}
	if err := p.Replace(widgets("test0.io", "none")); err == nil {
		t.Error("Replace of a resource that does not exist: no error")
	}
	p.check("/apis/test0.io/v1", 200, `"resources":[{"name":"widgets"`)
	if _, body := p.do("GET", "/apis", ""); strings.Contains(body, "test1.io") {
		t.Errorf("a refused resource is shown: %s", body)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Install(p.Core, server.Group{Name: "test1.io", Resources: []registry.Resource{widgets("test1.io", "y")}}); err == nil {
		t.Error("Install after Close: no error")
	}
}

// TestSharedResource serves the same objects in two groups.
func TestSharedResource(t *testing.T) {
	p := newInProcess(t, withKinds(2))
	p.install(widgets("test0.io", "widgets"))
	if err := p.Install(p.Core, server.Group{Name: "test1.io", Shared: []meta.GroupResource{widgetsName}}); err != nil {
		t.Fatal(err)
	}
	other := meta.GroupResource{Group: "test1.io", Resource: "widgets"}
	const others = "/apis/test1.io/v1/namespaces/ns/widgets"
	p.mustDo("POST", others, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	p.check(others+"/a", 200, `"apiVersion":"test1.io/v1"`)
	p.check(v2Widgets+"/a", 200, `"apiVersion":"test0.io/v2"`)
	if p.Store(other) == nil || p.Store(other).Objects() != p.Store(widgetsName).Objects() {
		t.Error("two names have two stores")
	}
	declared := widgets("test0.io", "widgets", func(r *registry.ResourceOf[*corev1.ConfigMap]) { r.ShortNames = []string{"wd"} })
	if err := p.Replace(declared); err != nil {
		t.Fatal(err)
	}
	p.check(others+"/a", 200, `"k":"v"`)
	p.check("/apis/test1.io/v1", 200, `"wd"`)
	if p.Store(other).Objects() != p.Store(widgetsName).Objects() {
		t.Error("after Replace two names have two stores")
	}
	p.remove(other)
	p.check(others+"/a", 404, "")
	p.check(v1Widgets+"/a", 200, `"k":"v"`)
	if err := p.Install(p.Core, server.Group{Name: "test1.io", Shared: []meta.GroupResource{widgetsName}}); err != nil {
		t.Fatal(err)
	}
	p.remove(widgetsName) // removes it under all its names
	p.check(others+"/a", 404, "")
	p.check("/apis/test1.io/v1", 404, "")
}

// TestReplaceFails: if a declaration is not valid for one of a resource's names, it is refused, and
// the old declaration stays in force for all names.
func TestReplaceFails(t *testing.T) {
	p := newInProcess(t, withKinds(2))
	p.install(widgets("test0.io", "widgets"))
	if err := p.Install(p.Core, server.Group{Name: "test1.io", Shared: []meta.GroupResource{widgetsName}}); err != nil {
		t.Fatal(err)
	}
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: "test0.io", Kind: "ConfigMap"}, Versions: []kind.DynamicVersion{{Name: "v3"}},
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	err = p.Replace(registry.Typed(registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: widgetsName, Kind: "ConfigMap", Namespaced: true, Type: k,
	}))
	if err == nil || !strings.Contains(err.Error(), "has the hub") {
		t.Fatalf("got %v, want that the hub is another", err)
	}
	p.mustDo("POST", v1Widgets, `{"metadata":{"name":"a"}}`)
	p.check("/apis/test1.io/v1/namespaces/ns/widgets/a", 200, `"name":"a"`)
}

// TestReplaceWatch: a watch continues when the declaration is replaced. When the resource is
// removed, the watch ends as at its timeout.
func TestReplaceWatch(t *testing.T) {
	p := newInProcess(t, withKinds(1))
	p.install(widgets("test0.io", "widgets"))
	p.mustDo("POST", v1Widgets, `{"metadata":{"name":"a"}}`)
	sent := make(chan int, 10)
	w := &streamWriter{sink{header: http.Header{}}, func(n int) { sent <- n }}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", v1Widgets+"?watch=1", nil))
	}()
	event := func() {
		for n := 0; n < 1; n += <-sent {
		}
	}
	event()
	if err := p.Replace(widgets("test0.io", "widgets")); err != nil {
		t.Fatal(err)
	}
	p.mustDo("POST", v1Widgets, `{"metadata":{"name":"b"}}`)
	event()
	p.remove(widgetsName)
	<-ended
	for range len(sent) {
		if n := <-sent; n > 0 {
			t.Errorf("%d events at the end, want none", n)
		}
	}
	if _, body := p.do("GET", "/metrics", ""); strings.Contains(body, "widgets") {
		t.Error("the metrics of what was removed are back")
	}
}

// TestRemoveWhileWriting removes an encrypted resource during a write. The write succeeds and is
// encrypted.
func TestRemoveWhileWriting(t *testing.T) {
	engine := memory.New(memory.Config{})
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(`{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [
		{resources: [widgets.test0.io], providers: [{secretbox: {keys: [{name: k, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newInProcess(t, withKinds(1), func(c *server.Config) { c.Storage.Store, c.Storage.EncryptionConfigFile = engine, file })
	inside, goOn := make(chan struct{}), make(chan struct{})
	p.install(widgets("test0.io", "widgets", func(r *registry.ResourceOf[*corev1.ConfigMap]) {
		r.Strategy.Prepare = func(*registry.Request, *corev1.ConfigMap, *corev1.ConfigMap) { close(inside); <-goOn }
	}))
	var writing sync.WaitGroup
	writing.Go(func() {
		if code, body := p.do("POST", v1Widgets, `{"metadata":{"name":"a"},"data":{"secret":"text"}}`); code != 201 {
			t.Errorf("a write that had begun: got %d %s, want 201", code, body)
		}
	})
	<-inside
	gone, err := p.Remove(widgetsName)
	if err != nil {
		t.Fatal(err)
	}
	p.check(v1Widgets+"/a", 404, "")
	select {
	case <-gone:
		t.Error("the removal was complete during a write")
	default:
	}
	close(goOn)
	writing.Wait()
	<-gone
	res, err := engine.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/test0.io/"})
	if err != nil || len(res.Entries) != 1 || !strings.HasPrefix(string(res.Entries[0].Value), "k8s:enc:secretbox:") {
		t.Errorf("stored: %v, %v, want one encrypted value", res.Entries, err)
	}
}

// TestRemoveAfterReplace removes a resource during a write that began before the resource was
// replaced, twice.
func TestRemoveAfterReplace(t *testing.T) {
	p := newInProcess(t, withKinds(1))
	inside, goOn := make(chan struct{}), make(chan struct{})
	p.install(widgets("test0.io", "widgets", func(r *registry.ResourceOf[*corev1.ConfigMap]) {
		r.Strategy.Prepare = func(*registry.Request, *corev1.ConfigMap, *corev1.ConfigMap) { close(inside); <-goOn }
	}))
	var writing sync.WaitGroup
	writing.Go(func() {
		if code, body := p.do("POST", v1Widgets, `{"metadata":{"name":"a"}}`); code != 201 {
			t.Errorf("a write that had begun: got %d %s, want 201", code, body)
		}
	})
	<-inside
	for range 2 {
		if err := p.Replace(widgets("test0.io", "widgets")); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := p.Remove(widgetsName)
	if err != nil {
		t.Fatal(err)
	}
	p.check("/metrics", 200, "") // takes longer than a removal that does not wait
	select {
	case <-gone:
		t.Error("the removal was complete during a write")
	default:
	}
	close(goOn)
	writing.Wait()
	<-gone
}

// TestDynamicLists lists objects without a Go type, as stored and converted. Their fields may have
// any names.
func TestDynamicLists(t *testing.T) {
	p := newInProcess(t)
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: "x.io", Kind: "X"}, Versions: []kind.DynamicVersion{{Name: "v1"}, {Name: "v2"}},
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	p.install(registry.Typed(registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: meta.GroupResource{Group: "x.io", Resource: "xs"}, Kind: "X", Type: k,
	}))
	p.mustDo("POST", "/apis/x.io/v1/xs", `{"metadata":{"name":"n"},"a":1,"data":{"x":"y"}}`)
	for _, version := range []string{"v1", "v2"} {
		_, body := p.do("GET", "/apis/x.io/"+version+"/xs", "")
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) != 1 || list.Items[0]["a"] != 1.0 || list.Items[0]["apiVersion"] != "x.io/"+version {
			t.Errorf("%s: got %s, %v", version, body, err)
		}
	}
}

// TestActions installs a resource without a store: it can only be created, and nothing is stored.
func TestActions(t *testing.T) {
	p := newInProcess(t, withKinds(1))
	name := meta.GroupResource{Group: "test0.io", Resource: "questions"}
	ask := server.Group{Name: "test0.io", Actions: []registry.Actions{{
		GroupResource: name, Kind: "ConfigMap", Singular: "question", Namespaced: true,
		Create: func(_ context.Context, a *registry.Action) (meta.Typed, error) {
			asked := a.Object.(*corev1.ConfigMap)
			if asked.Data["q"] == "" {
				return nil, meta.NewBadRequest("no question")
			}
			asked.Data["a"] = "to " + asked.Data["q"] + " in " + a.Namespace
			return asked, nil
		},
	}}}
	if err := p.Install(p.Core, ask); err != nil {
		t.Fatal(err)
	}
	const questions = "/apis/test0.io/v1/namespaces/ns/questions"
	if code, body := p.do("POST", questions, `{"data":{"q":"x"}}`); code != 201 || !strings.Contains(body, `"a":"to x in ns"`) {
		t.Errorf("POST: got %d %s", code, body)
	}
	if code, body := p.do("POST", questions, `{}`); code != 400 || !strings.Contains(body, "no question") {
		t.Errorf("POST of nothing: got %d %s", code, body)
	}
	p.check(questions, 405, "")
	p.check("/apis/test0.io/v1", 200, `"name":"questions","singularName":"question","namespaced":true,"kind":"ConfigMap","verbs":["create"]`)
	if p.Store(name) != nil {
		t.Error("there is a store")
	}
	if gr, ok := p.ResourceOf(meta.GroupKind{Group: "test0.io", Kind: "ConfigMap"}); !ok || gr != name {
		t.Errorf("ResourceOf: got %v, %v", gr, ok)
	}
	p.remove(name)
	p.check("/apis/test0.io/v1", 404, "")
}
