package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apiserver"
)

const aggregatedForm = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// TestAggregatedDiscovery has made-up servers describe themselves, in each form of discovery, to
// Coracle and to kube-aggregator's discovery manager. It compares what both show of the servers'
// groups.
func TestAggregatedDiscovery(t *testing.T) {
	o := newOurs(t)
	o.must(t, "POST", "/api/v1/namespaces/default/services", map[string]any{
		"metadata": map[string]any{"name": "described"}, "spec": map[string]any{"type": "ExternalName", "externalName": "localhost"},
	})
	shown := 0
	for i := range int(20 * count) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		d := discovered{r}
		says := d.server()
		behind := httptest.NewTLSServer(says)
		manager := aggregated.NewResourceManager("apis")
		theirs := apiserver.NewDiscoveryManager(manager)
		port := int32(behind.Listener.Addr().(*net.TCPAddr).Port)
		var names []string
		for _, gv := range discoveredVersions {
			if d.IntN(3) == 0 {
				continue
			}
			service := &apiregistrationv1.APIService{
				ObjectMeta: metav1.ObjectMeta{Name: gv[1] + "." + gv[0]},
				Spec: apiregistrationv1.APIServiceSpec{
					Group: gv[0], Version: gv[1], GroupPriorityMinimum: int32(1 + d.IntN(3)), VersionPriority: int32(1 + d.IntN(2)), InsecureSkipTLSVerify: true,
					Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "described", Port: &port},
				},
			}
			theirs.AddAPIService(service, says)
			object := tree(service).(map[string]any)
			delete(object, "status")
			o.must(t, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", object)
			names = append(names, service.Name)
		}
		synced, stop := make(chan struct{}), make(chan struct{})
		go theirs.Run(stop, synced)
		<-synced
		want := madeUpGroups(t, manager)
		shown += len(want)
		var got []any
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if got = madeUpGroups(t, o); reflect.DeepEqual(got, want) {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %v of %s:\ngot  %s\nwant %s", i, names, encode(says.answers), encode(got), encode(want))
		}
		for _, name := range names {
			o.must(t, "DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/"+name, nil)
		}
		close(stop)
		behind.Close()
	}
	if shown == 0 {
		t.Error("nothing was compared")
	}
}

// must sends a request, which has to succeed.
func (o *ours) must(t *testing.T, method, path string, body map[string]any) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(string(encode(body))))
	r.Header.Set("Content-Type", "application/json")
	if o.ServeHTTP(w, r); w.Code >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// madeUpGroups are the groups of aggregated discovery whose names are made up.
func madeUpGroups(t *testing.T, h http.Handler) (groups []any) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/apis", nil)
	r.Header.Set("Accept", aggregatedForm)
	h.ServeHTTP(w, r)
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	for _, g := range list.Items {
		if name := g["metadata"].(map[string]any)["name"].(string); strings.HasSuffix(name, ".io") && !strings.Contains(name, "k8s") {
			delete(g["metadata"].(map[string]any), "creationTimestamp")
			groups = append(groups, g)
		}
	}
	return groups
}

var discoveredVersions = [][2]string{{"a.io", "v1"}, {"a.io", "v2"}, {"a.io", "v1beta1"}, {"b.io", "v1"}, {"c.io", "v1alpha1"}}

// discovered makes up the discovery documents of servers.
type discovered struct{ *rand.Rand }

// describedServer answers by path.
type describedServer struct {
	answers map[string]describedAnswer
}

type describedAnswer struct {
	Code       int
	Type, Body string
}

// ServeHTTP implements http.Handler.
func (s describedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := s.answers[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.Type)
	w.WriteHeader(a.Code)
	fmt.Fprint(w, a.Body)
}

func (d discovered) server() describedServer {
	s := describedServer{map[string]describedAnswer{}}
	var groups []any
	for _, name := range []string{"a.io", "b.io", "c.io"} {
		var versions []any
		for _, gv := range discoveredVersions {
			if gv[0] == name && d.IntN(4) > 0 {
				versions = append(versions, map[string]any{"version": gv[1], "freshness": "Current", "resources": d.resources()})
				s.answers["/apis/"+name+"/"+gv[1]] = describedAnswer{200, "application/json", string(encode(map[string]any{
					"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name + "/" + gv[1], "resources": d.list(),
				}))}
			}
		}
		groups = append(groups, map[string]any{"metadata": map[string]any{"name": name}, "versions": versions})
	}
	all := string(encode(map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": map[string]any{}, "items": groups}))
	switch d.IntN(8) {
	case 0, 1, 2:
		s.answers["/apis"] = describedAnswer{200, aggregatedForm, all}
	case 3:
		s.answers["/apis"] = describedAnswer{200, strings.Replace(aggregatedForm, "v=v2", "v=v2beta1", 1), strings.Replace(all, "k8s.io/v2", "k8s.io/v2beta1", 1)}
	case 4:
		s.answers["/apis"] = describedAnswer{503, "text/plain", "later"}
	case 5:
		s.answers["/apis"] = describedAnswer{200, aggregatedForm, all[:len(all)/2]}
	case 6:
		s.answers["/apis"] = describedAnswer{200, "application/json", `{"kind":"APIGroupList"}`}
	}
	return s
}

func (d discovered) kind() map[string]any {
	kind := map[string]any{"group": "", "version": "", "kind": []string{"K", "L"}[d.IntN(2)]}
	if d.IntN(4) == 0 {
		kind["group"], kind["version"] = "other.io", "v1"
	}
	return kind
}

func (d discovered) resources() (resources []any) {
	for _, name := range []string{"things", "others"} {
		if d.IntN(3) == 0 {
			continue
		}
		r := map[string]any{
			"resource": name, "scope": []string{"Namespaced", "Cluster"}[d.IntN(2)], "singularResource": "", "verbs": []any{"get", "list"},
		}
		if d.IntN(3) > 0 {
			r["responseKind"] = d.kind()
		}
		if d.IntN(2) == 0 {
			r["shortNames"], r["categories"] = []any{"t"}, []any{"all"}
		}
		if d.IntN(2) == 0 {
			sub := map[string]any{"subresource": "status", "verbs": []any{"get"}}
			if d.IntN(2) == 0 {
				sub["responseKind"], sub["acceptedTypes"] = d.kind(), []any{d.kind()}
			}
			r["subresources"] = []any{sub}
		}
		resources = append(resources, r)
	}
	return resources
}

// list makes up the resources of a version for its APIResourceList, the form before aggregated
// discovery.
func (d discovered) list() (resources []any) {
	for _, name := range []string{"things", "things/status", "others", "lone/sub", "others/scale"} {
		if d.IntN(4) == 0 {
			continue
		}
		r := map[string]any{"name": name, "singularName": "", "namespaced": d.IntN(6) > 0, "kind": []string{"K", "", "L"}[d.IntN(3)], "verbs": []any{"get"}}
		if d.IntN(3) == 0 {
			r["group"], r["version"] = "other.io", "v2"
		}
		if d.IntN(3) == 0 {
			r["shortNames"], r["categories"] = []any{"x"}, []any{"all"}
		}
		resources = append(resources, r)
	}
	return resources
}
