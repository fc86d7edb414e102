package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scriptedServer is a server behind. It has an answer for each path, and records the requests that
// it gets.
type scriptedServer struct {
	*httptest.Server
	mu    sync.Mutex
	says  map[string]scriptedAnswer
	asked []string // path, user, groups, and the ETag of the request
}

// scriptedAnswer is an answer. The zero value is a 404.
type scriptedAnswer struct {
	code            int
	typ, etag, body string
	hang            chan struct{}
}

func newScriptedServer(t testing.TB, says map[string]scriptedAnswer) *scriptedServer {
	t.Helper()
	s := &scriptedServer{says: says}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *scriptedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	a := s.says[r.URL.Path]
	words := append([]string{r.URL.Path, r.Header.Get("X-Remote-User")}, r.Header["X-Remote-Group"]...)
	s.asked = append(s.asked, strings.Join(append(words, r.Header["If-None-Match"]...), " "))
	s.mu.Unlock()
	if a.hang != nil {
		select {
		case <-a.hang:
		case <-r.Context().Done():
		}
		return
	}
	if a.etag != "" {
		w.Header().Set("ETag", a.etag)
		if r.Header.Get("If-None-Match") == a.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if a.typ != "" {
		w.Header().Set("Content-Type", a.typ)
	}
	switch {
	case a.code != 0:
		w.WriteHeader(a.code)
	case a.body == "":
		w.WriteHeader(http.StatusNotFound)
	}
	io.WriteString(w, a.body)
}

// say sets the answer of a path.
func (s *scriptedServer) say(path string, a scriptedAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.says[path] = a
}

// was returns how often the server got a request.
func (s *scriptedServer) was(question string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		if q == question {
			n++
		}
	}
	return n
}

// aggregates creates an APIService that puts s behind a server, for a group version.
func (s *scriptedServer) aggregates(p *inProcess, version, group string, priority int) {
	p.TB.Helper()
	const services = "/api/v1/namespaces/ns/services"
	if code, _ := p.do("GET", services+"/speaker", ""); code == http.StatusNotFound {
		p.mustDo("POST", services, `{"metadata":{"name":"speaker"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	}
	p.mustDo("POST", "/apis/apiregistration.k8s.io/v1/apiservices", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"group":%q,"version":%q,
		"groupPriorityMinimum":%d,"versionPriority":10,"insecureSkipTLSVerify":true,"service":{"namespace":"ns","name":"speaker","port":%d}}}`,
		version+"."+group, group, version, priority, s.Listener.Addr().(*net.TCPAddr).Port))
}

// available sets the condition Available of an APIService.
func available(p *inProcess, version, group string, status string) {
	p.TB.Helper()
	p.mustDo("PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/"+version+"."+group+"/status",
		`{"status":{"conditions":[{"type":"Available","status":"`+status+`"}]}}`)
}

const (
	aggregatedList = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	asAggregator   = "system:kube-aggregator system:masters"
)

// discovered returns what aggregated discovery shows of a group: its versions, whether each is
// stale, and its resources.
func discovered(p *inProcess, group string) string {
	p.TB.Helper()
	_, body := p.do("GET", "/apis", "", "Accept", aggregatedList)
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version, Freshness string
				Resources          []struct {
					Resource     string
					Subresources []struct{ Subresource string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		p.TB.Fatal(err)
	}
	var all []string
	for _, g := range list.Items {
		for _, v := range g.Versions {
			if g.Metadata.Name != group {
				continue
			}
			line := v.Version + " " + v.Freshness
			for _, r := range v.Resources {
				line += " " + r.Resource
				for _, sub := range r.Subresources {
					line += "/" + sub.Subresource
				}
			}
			all = append(all, line)
		}
	}
	return strings.Join(all, "; ")
}

// boatsList is the aggregated discovery of a server behind, for boats.example.com.
const boatsList = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"boats.example.com"},"versions":[
	{"version":"v1","freshness":"Current","resources":[{"resource":"boats","scope":"Namespaced","singularResource":"boat","verbs":["get","list"],
		"responseKind":{"group":"","version":"","kind":"Boat"},"subresources":[{"subresource":"status","verbs":["get"]}]}]},
	{"version":"v2","freshness":"Current","resources":[{"resource":"ships","scope":"Cluster","singularResource":"","verbs":["get"]}]}]}]}`

// TestRemoteDiscovery: discovery shows the resources of a server behind, from aggregated discovery
// or from the list of each version, while the server changes, fails, recovers and is removed.
func TestRemoteDiscovery(t *testing.T) {
	p := newInProcess(t)
	_, before := p.do("GET", "/apis", "", "Accept", aggregatedList)
	s := newScriptedServer(t, map[string]scriptedAnswer{"/apis": {typ: aggregatedList, etag: `"1"`, body: boatsList}})
	sees := func(what, want string) {
		t.Helper()
		eventually(t, what, func() bool { return discovered(p, "boats.example.com") == want })
	}
	s.aggregates(p, "v1", "boats.example.com", 30000-20001)
	sees("a version is shown", "v1 Current boats/status")
	if s.was("/apis "+asAggregator) == 0 {
		t.Error("the server got requests of another user")
	}
	s.aggregates(p, "v2", "boats.example.com", 100)
	s.aggregates(p, "v3", "boats.example.com", 100)
	sees("versions of one server are shown", "v3 Current; v2 Current ships; v1 Current boats/status")
	if code, body := p.do("GET", "/apis/boats.example.com", ""); code != 200 || !strings.Contains(body, `"preferredVersion":{"groupVersion":"boats.example.com/v3","version":"v3"}`) {
		t.Errorf("the group: %d %s", code, body)
	}
	s.aggregates(p, "v9", "apps", 100)
	eventually(t, "a version of another server takes its place among those that are served here", func() bool {
		all := discovered(p, "apps")
		return strings.HasPrefix(all, "v1 Current controllerrevisions") && strings.HasSuffix(all, "; v9 Current")
	})
	p.mustDo("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v9.apps", "")
	asked := s.was("/apis " + asAggregator + ` "1"`)
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "a server that has not changed is not read again", func() bool { return s.was("/apis "+asAggregator+` "1"`) > asked })

	s.say("/apis", scriptedAnswer{code: 503})
	available(p, "v1", "boats.example.com", "False")
	sees("a server that does not answer is stale", "v3 Stale; v2 Stale; v1 Stale")
	if _, body := p.do("GET", "/apis", ""); !strings.Contains(body, `"name":"boats.example.com"`) {
		t.Errorf("/apis: %s", body)
	}
	s.say("/apis", scriptedAnswer{typ: "application/json", body: `{"kind":"APIGroupList"}`}) // is read again by itself
	s.say("/apis/boats.example.com/v1", scriptedAnswer{typ: "application/json", body: `{"resources":[{"name":"boats","namespaced":true,"kind":"Boat","verbs":["get"]},
		{"name":"boats/sail","namespaced":true,"kind":"Sail","verbs":["update"]}]}`})
	sees("a server that knows no aggregated discovery is asked for each version", "v3 Stale; v2 Stale; v1 Current boats/sail")
	if s.was("/apis/boats.example.com/v1 system:kube-aggregator") == 0 {
		t.Error("the server got requests of another user for a version")
	}
	for _, v := range []string{"v1", "v2", "v3"} {
		p.mustDo("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/"+v+".boats.example.com", "")
	}
	eventually(t, "discovery is what it was", func() bool {
		_, body := p.do("GET", "/apis", "", "Accept", aggregatedList)
		return body == before
	})
}

// TestRemoteDiscoveryRefuses: if the answer of a server behind is no discovery document, its
// version is stale, and all other versions stay as they are.
func TestRemoteDiscoveryRefuses(t *testing.T) {
	p := newInProcess(t)
	s := newScriptedServer(t, map[string]scriptedAnswer{})
	s.aggregates(p, "v1", "boats.example.com", 100)
	for i, bad := range []scriptedAnswer{
		{typ: aggregatedList, body: "{"}, {typ: aggregatedList, body: `{"items":[{"versions":[{"resources":[1]}]}]}`},
		{typ: aggregatedList, body: strings.Repeat(" ", 5<<20) + boatsList}, {code: 500}, {typ: "text/html", body: "hello"},
		{typ: aggregatedList, body: strings.Repeat(`{"items":[`, 20000)},
	} {
		s.say("/apis", scriptedAnswer{typ: aggregatedList, etag: fmt.Sprint(`"`, i, `"`), body: boatsList})
		available(p, "v1", "boats.example.com", "True")
		eventually(t, "good discovery", func() bool { return discovered(p, "boats.example.com") == "v1 Current boats/status" })
		s.say("/apis", bad)
		available(p, "v1", "boats.example.com", "False")
		eventually(t, "bad discovery", func() bool { return discovered(p, "boats.example.com") == "v1 Stale" })
		if apps := discovered(p, "apps"); !strings.HasPrefix(apps, "v1 Current ") {
			t.Errorf("%d: of others: %s", i, apps)
		}
	}
}

const (
	boatsIndex = `{"paths":{"apis/boats.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/boats.example.com/v1?hash=ABC"},
		"apis/boats.example.com":{"serverRelativeURL":"http://elsewhere/?hash=D%22"},"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=EVIL"}}}`
	boatsSwagger = `{"swagger":"2.0","info":{"title":"boats","version":"1"},"paths":{
		"/apis/boats.example.com/v1/boats":{"get":{"operationId":"boats","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Boat"}}}}},
		"/api/v1/evil":{"get":{"responses":{}}}},"definitions":{"Boat":{"type":"object"}}}`
)

// TestRemoteOpenAPI: clients get the OpenAPI v3 document of the server behind itself; this server
// only adds the document to its index. The OpenAPI v2 document contains the parts of the remote one
// that are about the versions of that server.
func TestRemoteOpenAPI(t *testing.T) {
	p := newInProcess(t)
	_, v2 := p.do("GET", "/openapi/v2", "")
	_, v3 := p.do("GET", "/openapi/v3", "")
	s := newScriptedServer(t, map[string]scriptedAnswer{
		"/apis":                                 {typ: aggregatedList, body: boatsList},
		"/openapi/v3":                           {body: boatsIndex},
		"/openapi/v2":                           {body: boatsSwagger, etag: `"s"`},
		"/openapi/v3/apis/boats.example.com/v1": {body: "the document"},
	})
	index := func() string {
		_, body := p.do("GET", "/openapi/v3", "")
		return body
	}
	s.aggregates(p, "v1", "boats.example.com", 100)
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "the index has the document", func() bool {
		return strings.Contains(index(), `"apis/boats.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/boats.example.com/v1?hash=ABC"}`)
	})
	if got := index(); !strings.Contains(got, `"apis/boats.example.com":{"serverRelativeURL":"/openapi/v3/apis/boats.example.com"}`) || strings.Contains(got, "EVIL") {
		t.Errorf("the index: %s", got)
	}
	if code, body := p.do("GET", "/openapi/v3/apis/boats.example.com/v1?hash=ABC", ""); code != 200 || body != "the document" {
		t.Errorf("the document: %d %s", code, body)
	}
	if s.was("/openapi/v2 system:aggregator") > 0 {
		t.Error("version 2 was asked for before anybody wanted it")
	}
	_, merged := p.do("GET", "/openapi/v2", "")
	if !strings.Contains(merged, `"/apis/boats.example.com/v1/boats":`) || !strings.Contains(merged, `"/api/v1/pods":`) || strings.Contains(merged, "evil") {
		t.Errorf("version 2: %.2000s", merged)
	}
	p.do("GET", "/openapi/v2", "")
	if n := s.was("/openapi/v2 system:aggregator"); n != 1 {
		t.Errorf("version 2 was asked for %d times", n)
	}
	s.say("/openapi/v2", scriptedAnswer{body: `{"paths":{"/apis/boats.example.com/v1/boats":1}}`})
	s.say("/openapi/v3", scriptedAnswer{body: `{"paths":[]}`})
	available(p, "v1", "boats.example.com", "Unknown")
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "version 2 is asked for when something has changed", func() bool {
		p.do("GET", "/openapi/v2", "")
		return s.was(`/openapi/v2 system:aggregator "s"`) > 0
	})
	if _, again := p.do("GET", "/openapi/v2", ""); again != merged {
		t.Error("a document that is none changed version 2")
	}
	if got := index(); !strings.Contains(got, "hash=ABC") {
		t.Errorf("an index that is none changed the index: %s", got)
	}
	p.mustDo("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v1.boats.example.com", "")
	eventually(t, "the index is what it was", func() bool { return index() == v3 })
	if _, got := p.do("GET", "/openapi/v2", ""); got != v2 {
		t.Error("version 2 is not what it was")
	}
}

// TestRemoteOpenAPIv2Only: the OpenAPI v3 document of a server behind that has only v2 is made from
// v2, when a client asks for it.
func TestRemoteOpenAPIv2Only(t *testing.T) {
	p := newInProcess(t)
	_, v3 := p.do("GET", "/openapi/v3", "")
	s := newScriptedServer(t, map[string]scriptedAnswer{"/apis": {typ: aggregatedList, body: boatsList}, "/openapi/v2": {body: boatsSwagger, etag: `"s"`}})
	s.aggregates(p, "v1", "boats.example.com", 100)
	s.aggregates(p, "v2", "boats.example.com", 100) // the v2 document does not mention this version
	available(p, "v1", "boats.example.com", "True")
	const path, entry = "/openapi/v3/apis/boats.example.com/v1", `"apis/boats.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/boats.example.com/v1?hash=`
	index := func() string {
		_, body := p.do("GET", "/openapi/v3", "")
		return body
	}
	eventually(t, "the index has the document", func() bool { return strings.Contains(index(), entry) })
	if got := index(); strings.Count(got, "boats.example.com/v") != 2 {
		t.Errorf("the index: %s", got)
	}
	code, body := p.do("GET", path, "")
	if code != 200 || !strings.Contains(body, `"$ref":"#/components/schemas/Boat"`) || strings.Contains(body, "evil") || !strings.Contains(body, `"title":"boats"`) {
		t.Errorf("the document: %d %s", code, body)
	}
	if _, merged := p.do("GET", "/openapi/v2", ""); !strings.Contains(merged, `"/apis/boats.example.com/v1/boats":`) {
		t.Error("version 2 lacks what the server says")
	}
	if n := s.was("/openapi/v2 system:aggregator"); n != 1 {
		t.Errorf("version 2 was asked for %d times", n)
	}

	s.say("/openapi/v2", scriptedAnswer{code: 500})
	available(p, "v1", "boats.example.com", "Unknown")
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "the server is asked again", func() bool { index(); return s.was(`/openapi/v2 system:aggregator "s"`) > 0 })
	if code, again := p.do("GET", path, ""); code != 200 || again != body {
		t.Errorf("when the server does not answer: %d %s", code, again)
	}
	s.say("/openapi/v3", scriptedAnswer{body: boatsIndex})
	s.say(path, scriptedAnswer{body: "the document"})
	available(p, "v1", "boats.example.com", "Unknown")
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "the document is the server's own, now that it has one", func() bool {
		_, body := p.do("GET", path, "")
		return strings.Contains(index(), entry+`ABC"`) && body == "the document"
	})
	p.mustDo("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v1.boats.example.com", "")
	p.mustDo("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices/v2.boats.example.com", "")
	eventually(t, "the index is what it was", func() bool { return index() == v3 })
}

// TestRemoteHangs: a server behind that does not answer delays one request for OpenAPI v2, and no
// other request.
func TestRemoteHangs(t *testing.T) {
	t.Parallel()
	p := newInProcess(t)
	end := make(chan struct{})
	s := newScriptedServer(t, map[string]scriptedAnswer{"/apis": {hang: end}, "/openapi/v2": {hang: end}, "/openapi/v3": {hang: end}})
	t.Cleanup(func() { close(end) })
	s.aggregates(p, "v1", "boats.example.com", 100)
	available(p, "v1", "boats.example.com", "True")
	eventually(t, "the version is shown as stale", func() bool { return discovered(p, "boats.example.com") == "v1 Stale" })
	for range 3 {
		for _, path := range []string{"/apis", "/openapi/v3", "/openapi/v2"} {
			if code, body := p.do("GET", path, ""); code != 200 || len(body) < 1000 {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
	if n := s.was("/openapi/v2 system:aggregator"); n > 1 {
		t.Errorf("the server was asked %d times for version 2", n)
	}
}
