package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/inspect"
)

// TestOddPaths requests unusual paths, and compares the answers with those of kube-apiserver.
func TestOddPaths(t *testing.T) {
	const (
		text, json = "text/plain; charset=utf-8", "application/json"
		noPage     = "404 page not found\n"
		noResource = `"message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404`
		noMethod   = `"reason":"MethodNotAllowed","details":{},"code":405`
		noName     = `"message":"name must be provided","reason":"BadRequest","code":400`
		noSpace    = `"message":"Namespace parameter required.","reason":"BadRequest","code":400`
		cut        = `": failed to create RequestInfo: unable to determine kind and namespace from url, `
		pods       = "/api/v1/namespaces/ns/pods"
	)
	p := newInProcess(t)
	for _, tt := range []struct {
		request     string // method and target
		code        int
		contentType string
		body        string // the whole body if it is text, a part of it if it is JSON
	}{
		{"GET //api", 404, text, noPage},
		{"GET //api/v1", 404, text, noPage},
		{"GET //api/v1/pods", 404, text, noPage},
		{"GET //apis", 404, text, noPage},
		{"GET //healthz", 404, text, noPage},
		{"GET /api/", 200, json, `"APIVersions"`},
		{"GET /api//", 200, json, `"APIVersions"`},
		{"GET /api//v1", 404, json, noResource},
		{"GET /api/v1//", 200, json, `"APIResourceList"`},
		{"GET /api/v1//pods", 404, json, noResource},
		{"GET /apis/", 200, json, `"APIGroupList"`},
		{"GET /apis//", 404, text, noPage},
		{"GET /apis//x", 404, text, noPage},
		{"GET /apis//v1", 404, text, noPage},
		{"GET /apis//v1/pods", 404, text, noPage},
		{"GET /apis//v1/namespaces/ns/pods/x", 404, text, noPage},
		{"GET /apis/nope/v1/things", 404, text, noPage},
		{"GET /apis/coordination.k8s.io//", 200, json, `"APIGroup"`},
		{"GET /apis/coordination.k8s.io//v1", 404, json, noResource},
		{"GET /apis/coordination.k8s.io/v1//x", 404, json, noResource},
		{"POST /apis", 200, json, `"APIGroupList"`},
		{"PATCH /apis/coordination.k8s.io", 200, json, `"APIGroup"`},
		{"POST /api", 405, json, noMethod},
		{"PUT /apis/coordination.k8s.io/v1", 405, json, noMethod},

		{"GET /api/v1/proxy", 500, text, `Internal Server Error: "/api/v1/proxy` + cut + "/api/v1/proxy\n"},
		{"GET /api/v1/watch/", 500, text, `Internal Server Error: "/api/v1/watch/` + cut + "/api/v1/watch/\n"},
		{"POST /apis/coordination.k8s.io/v1/watch?a=<b>&c", 500, text, `Internal Server Error: "/apis/coordination.k8s.io/v1/watch?a=&lt;b&gt;&amp;c` +
			cut + "/apis/coordination.k8s.io/v1/watch?a=&lt;b&gt;&amp;c\n"},
		{"GET /api/v1/proxy/nodes/a", 404, json, noResource},
		{"PATCH /api/v1/proxy/namespaces/ns/pods/x", 404, json, noResource},
		{"GET /api/v1/watch/nope", 404, json, noResource},
		{"GET /api/v1/watch/namespaces/ns/pods/x/status", 404, json, noResource},
		{"GET /api/v1/watch/namespaces/ns/status", 404, json, noResource},
		{"POST /api/v1/watch/pods", 405, json, noMethod},

		{"GET /api/v1/namespaces//pods", 200, json, `"PodList"`},
		{"GET /api/v1/namespaces//pods/x", 400, json, noSpace},
		{"DELETE /api/v1/namespaces//pods/x", 400, json, noSpace},
		{"DELETE /api/v1/namespaces//configmaps", 400, json, noSpace},
		{"DELETE /api/v1/configmaps", 405, json, noMethod},
		{"POST /api/v1/namespaces//pods/x", 405, json, noMethod},
		{"GET /api/v1/namespaces//nodes", 404, json, noResource},
		{"GET /api/v1/namespaces//nodes/x", 404, json, noResource},
		{"GET /api/v1/namespaces//namespaces", 404, json, noResource},
		{"GET /api/v1/namespaces//status", 400, json, noName},
		{"GET /api/v1/namespaces//finalize", 405, json, noMethod},
		{"PUT /api/v1/namespaces//finalize", 400, json, noName},
		{"GET /api/v1/nodes//status", 400, json, noName},
		{"GET " + pods + "//status", 400, json, noName},
		{"GET " + pods + "//status?fieldSelector=metadata.name%3Dx", 400, json, noName},
		{"GET /api/v1/namespaces//pods//status", 400, json, noName},
		{"DELETE " + pods + "//status", 405, json, noMethod},
		{"GET " + pods + "//x", 404, json, noResource},
		{"GET " + pods + "//", 200, json, `"PodList"`},
		{"GET " + pods + "/x/", 404, json, `pods \"x\" not found`},
		{"GET " + pods + "/x/status/y", 404, json, noResource},

		{"GET /apis/apiregistration.k8s.io/v1/apiservices/x/scale", 404, json, noResource},
		{"GET /apis/apiregistration.k8s.io/v1/nope", 404, json, noResource},
		{"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/x/scale", 404, json, noResource},
		{"GET /apis/apiextensions.k8s.io/v2", 404, json, noResource},

		{"GET /version//", 200, json, `"gitVersion"`},
		{"GET /version/x", 404, json, noResource},
		{"GET /openapi/v3/", 404, "", ""},
		{"GET /openapi/v3/nope", 404, "", ""},
		{"GET /openapi/v3/api/v1/", 404, "", ""},
		{"POST /openapi/v3", 200, text, `"paths"`},
		{"PUT /openapi/v2", 200, json, `"swagger"`},
		{"GET /openapi/v2/", 404, text, noPage},
		{"GET /metrics/", 404, text, noPage},

		{"GET /livez/ping", 200, text, "ok"},
		{"GET /livez/ping?verbose", 200, text, "ok"},
		{"GET /healthz/ping?verbose=true&exclude=ping", 200, text, "ok"},
		{"POST /readyz/ping?exclude=ping", 200, text, "ok"},
		{"GET /readyz/shutdown?verbose", 200, text, "ok"},
		{"GET /readyz/poststarthook/start-controllers?verbose", 500, text, "internal server error: not finished\n"},
		{"GET /livez/shutdown", 404, text, noPage},
		{"GET /livez/nope?verbose", 404, text, noPage},
		{"GET /livez/", 404, text, noPage},
		{"GET /readyz/ping/", 404, text, noPage},
		{"GET /readyz/poststarthook", 404, text, noPage},
	} {
		method, target, _ := strings.Cut(tt.request, " ")
		w := p.serve(p.request(method, target, http.NoBody))
		body, contentType := w.Body.String(), w.Header().Get("Content-Type")
		same := body == tt.body || (contentType == json || strings.HasPrefix(tt.body, `"`)) && strings.Contains(body, tt.body)
		if w.Code != tt.code || contentType != tt.contentType || !same {
			t.Errorf("%s:\n got %d %s %.300q\nwant %d %s %q", tt.request, w.Code, contentType, body, tt.code, tt.contentType, tt.body)
		}
	}
}

// TestExclusionsAreNamed: the warning about excluded checks that do not exist lists them as
// kube-apiserver does.
func TestExclusionsAreNamed(t *testing.T) {
	p := newInProcess(t)
	const want = "warn: some health checks cannot be excluded: no matches for \"a\",\"b\"\n"
	if _, body := p.do("GET", "/livez?exclude=b&exclude=a&exclude=b&verbose", ""); !strings.Contains(body, want) {
		t.Errorf("got %s, want %q in it", body, want)
	}
}

// TestProduced: a request that does not accept the only media type of an answer gets 406.
func TestProduced(t *testing.T) {
	p := newInProcess(t)
	for path, only := range map[string]string{
		"/version": "application/json", "/openid/v1/jwks": "application/jwk-set+json", "/.well-known/openid-configuration": "application/json",
	} {
		for accept, want := range map[string]int{"": 200, only: 200, "*/*": 200, "text/html," + only + ";q=0.5": 200, "text/html": 406, "application/*": 406} {
			code, body := p.do("GET", path, "", "Accept", accept)
			if code != want || code == 406 && status(body).Message != "406: Not Acceptable\n\nAvailable representations: "+only {
				t.Errorf("GET %s, Accept %q: got %d %.300s, want %d", path, accept, code, body, want)
			}
		}
		if code, body := p.do("POST", path, "", "Accept", "text/html"); code != 405 {
			t.Errorf("POST %s: got %d %s, want 405", path, code, body)
		}
	}
}

// TestIndex compares the paths that / lists.
func TestIndex(t *testing.T) {
	p := newInProcess(t, func(cfg *server.Config) {
		cfg.Serving.Debug = inspect.Config{Profiles: inspect.Profiles{Serve: true}, Flags: func() map[string]string { return nil }}
	})
	_, body := p.do("GET", "/", "")
	var index struct{ Paths []string }
	if err := json.Unmarshal([]byte(body), &index); err != nil {
		t.Fatal(err)
	}
	var other []string
	for _, path := range index.Paths {
		if first := strings.Split(path, "/")[1]; path == "/"+first || first != "apis" && first != "api" && first != "healthz" && first != "livez" && first != "readyz" {
			other = append(other, path)
		}
	}
	want := "/.well-known/openid-configuration /api /apis /flagz /healthz /livez /metrics /metrics/slis /openapi/v2 /openapi/v3 /openapi/v3/ " +
		"/openid/v1/jwks /readyz /statusz /version"
	if got := strings.Join(other, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/symbol": 200, "/debug/pprof/cmdline": 404, "/debug/pprof": 302} {
		if code, body := p.do("GET", path, ""); code != want {
			t.Errorf("GET %s: got %d %s, want %d", path, code, body, want)
		}
	}
}

// TestRefusedWatchWarns: a refused watch of a deprecated resource also gets the warning, even if
// the resource can only be listed. The texts are kube-apiserver's.
func TestRefusedWatchWarns(t *testing.T) {
	p := newInProcess(t)
	const endpoints, statuses = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice", "v1 ComponentStatus is deprecated in v1.19+"
	for _, tt := range []struct {
		path, warning, message string
		code                   int
	}{
		{"/api/v1/endpoints?watch=1&fieldSelector=a.b%3Dc", endpoints, `"a.b" is not a known field selector: only "metadata.name", "metadata.namespace"`, 400},
		{"/api/v1/endpoints?watch=1&limit=x", endpoints, `strconv.ParseInt: parsing "x": invalid syntax`, 400},
		{"/api/v1/componentstatuses?watch=1", statuses, `watch is not supported on resources of kind "componentstatuses"`, 405},
		{"/api/v1/componentstatuses?watch=1&limit=x", statuses, `strconv.ParseInt: parsing "x": invalid syntax`, 400},
		{"/api/v1/componentstatuses?watch=1&resourceVersion=1", statuses, `watch is not supported on resources of kind "componentstatuses"`, 405},
	} {
		w := p.serve(p.request("GET", tt.path, http.NoBody))
		if got := status(w.Body.String()); w.Code != tt.code || got.Message != tt.message {
			t.Errorf("%s: got %d %q, want %d %q", tt.path, w.Code, got.Message, tt.code, tt.message)
		}
		if got, want := w.Header().Get("Warning"), "299 - \""+tt.warning+"\""; got != want {
			t.Errorf("%s: got the warning %s, want %s", tt.path, got, want)
		}
	}
}
