package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// TestResourcesUnderLoad installs, replaces and removes resources while requests of all sorts run.
// A resource is served without a gap while it is replaced. Every resource that discovery or OpenAPI
// lists is served.
func TestResourcesUnderLoad(t *testing.T) {
	p := newInProcess(t, withKinds(4))
	p.install(widgets("test0.io", "widgets"))
	p.mustDo("POST", v1Widgets, `{"metadata":{"name":"a"}}`)
	var readers sync.WaitGroup
	var done atomic.Bool
	var removals atomic.Int64 // the number of removals begun and ended: odd during a removal
	again := func(f func()) {
		readers.Go(func() {
			for !done.Load() {
				f()
			}
		})
	}
	again(func() { p.check(v1Widgets+"/a", 200, `"name":"a"`) })
	again(func() { p.check(v2Widgets, 200, `"name":"a"`) })
	again(func() {
		if code, body := p.do("PATCH", v1Widgets+"/a", `{"data":{"k":"v"}}`); code != 200 {
			t.Errorf("PATCH: %d %s", code, body)
		}
	})
	again(func() { p.watchBriefly(v1Widgets) })
	again(func() {
		before := removals.Load()
		for _, path := range p.discovered() {
			code, body := p.do("GET", path, "")
			removed := before%2 == 1 || removals.Load() != before
			if code != 200 && (code != 404 || !removed) {
				t.Errorf("GET %s, from discovery: %d %s", path, code, body)
			}
		}
	})
	again(func() {
		for _, path := range []string{"/openapi/v3", "/openapi/v2", "/openapi/v3/apis/test0.io/v1", "/metrics", "/"} {
			p.check(path, 200, "")
		}
	})
	for round := range 3 {
		for i := range 12 {
			p.install(widgets(testGroup(i%4), fmt.Sprintf("things%d", i)))
			declared := widgets("test0.io", "widgets", func(r *registry.ResourceOf[*corev1.ConfigMap]) {
				r.ShortNames = []string{fmt.Sprintf("w%d-%d", round, i)}
			})
			if err := p.Replace(declared); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 12 {
			removals.Add(1)
			p.remove(meta.GroupResource{Group: testGroup(i % 4), Resource: fmt.Sprintf("things%d", i)})
			removals.Add(1)
		}
	}
	done.Store(true)
	readers.Wait()
}

// watchBriefly watches until the first event, and fails the test if the watch ends with an ERROR
// event.
func (p *inProcess) watchBriefly(path string) {
	ctx, cancel := context.WithCancel(p.TB.Context())
	defer cancel()
	r := p.request("GET", path+"?watch=1", nil).WithContext(ctx)
	w := &eventText{httptest.NewRecorder(), cancel}
	p.Handler().ServeHTTP(w, r)
	if body := w.Body.String(); w.Code != 200 || strings.Contains(body, "ERROR") {
		p.TB.Errorf("a watch: got %d %s", w.Code, body)
	}
}

// eventText is a ResponseRecorder of a client that leaves after the first event.
type eventText struct {
	*httptest.ResponseRecorder
	leave context.CancelFunc
}

func (w *eventText) Write(b []byte) (int, error) {
	if len(b) > 0 {
		w.leave()
	}
	return w.ResponseRecorder.Write(b)
}

// discovered returns the paths of all resources of the test groups, from aggregated discovery.
func (p *inProcess) discovered() []string {
	var doc struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []struct {
					Resource string
					Verbs    []string
				}
			}
		}
	}
	_, body := p.do("GET", "/apis", "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		p.TB.Error(err)
	}
	var paths []string
	for _, g := range doc.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if slices.Contains(r.Verbs, "list") {
					paths = append(paths, "/apis/"+g.Metadata.Name+"/"+v.Version+"/"+r.Resource)
				}
			}
		}
	}
	return paths
}

// crowd returns a server with n resources, in 20 groups.
func crowd(tb testing.TB, n int) *inProcess {
	p := newInProcess(tb, withKinds(20))
	byGroup := map[string][]registry.Resource{}
	for i := range n {
		byGroup[testGroup(i%20)] = append(byGroup[testGroup(i%20)], widgets(testGroup(i%20), fmt.Sprintf("things%d", i)))
	}
	for _, resources := range byGroup {
		p.install(resources...)
	}
	return p
}

// BenchmarkInstall measures the installation and removal of one more resource.
func BenchmarkInstall(b *testing.B) {
	for _, n := range []int{10, 600} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			p := crowd(b, n)
			one := widgets("test7.io", "widgets")
			b.ReportAllocs()
			for b.Loop() {
				p.install(one)
				p.remove(one.GroupResource)
			}
		})
	}
}

// BenchmarkGet measures a GET of a resource among others.
func BenchmarkGet(b *testing.B) {
	for _, n := range []int{10, 600} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			p := crowd(b, n)
			path := fmt.Sprintf("/apis/%s/v1/namespaces/ns/things%d", testGroup((n-1)%20), n-1)
			p.mustDo("POST", path, `{"metadata":{"name":"a"}}`)
			c := newCaller(p, 200, "GET", path+"/a")
			b.ReportAllocs()
			for b.Loop() {
				c.send(b, "")
			}
		})
	}
}
