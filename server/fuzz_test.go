package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/server"
)

// newTarget returns the server of the fuzz targets, with some objects.
func newTarget(f *testing.F) *inProcess {
	p := newInProcess(f, func(c *server.Config) { c.Limits.RequestTimeout = 10 * time.Second })
	p.mustDo("POST", maps, configMap("c", "v"))
	p.mustDo("POST", maps, configMap("d", "v"))
	p.mustDo("POST", "/api/v1/namespaces/ns/pods", strings.Replace(podBody, "%q", `"p"`, 1))
	return p
}

// faulty reports whether an answer comes from a panic or another fault of the server. Timeouts and
// answers that the server is busy or unavailable are not faults.
func faulty(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "unable to determine kind and namespace")
}

// FuzzServer sends any request. The server must not panic, answer with a fault of its own, or hang.
func FuzzServer(f *testing.F) {
	for _, s := range []struct{ method, target, header, typ, body string }{
		{"GET", "/api/v1/namespaces/ns/configmaps/c", "application/json", "", ""},
		{"GET", "/api/v1/namespaces/ns/configmaps?limit=1&labelSelector=a%3Db", "application/yaml", "", ""},
		{"GET", "/api/v1/pods?watch=1&resourceVersion=1", "application/json;as=Table;g=meta.k8s.io;v=v1", "", ""},
		{"GET", "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "", ""},
		{"GET", "/openapi/v3/api/v1?hash=x", "", "", ""},
		{"POST", "/api/v1/namespaces/ns/configmaps", "", "application/json", `{"metadata":{"generateName":"g"}}`},
		{"POST", "/api/v1/namespaces/ns/pods", "", "application/json", strings.Replace(podBody, "%q", `"q"`, 1)},
		{"POST", "/api/v1/namespaces/ns/secrets", "", "application/yaml", "metadata: {name: s}\ndata: {a: YQ==}\n"},
		{"PUT", "/api/v1/namespaces/ns/configmaps/c", "", "application/json", configMap("c", "w")},
		{"PUT", "/api/v1/namespaces/ns/pods/p/status", "", "application/json", strings.Replace(podBody, "%q", `"p"`, 1)},
		{"PATCH", "/api/v1/namespaces/ns/configmaps/c", "", "application/merge-patch+json", `{"data":{"a":null}}`},
		{"PATCH", "/api/v1/namespaces/ns/pods/p", "", "application/strategic-merge-patch+json", `{"spec":{"containers":[{"name":"web","image":"x"}]}}`},
		{"PATCH", "/api/v1/namespaces/ns/pods/p", "", "application/json-patch+json", `[{"op":"add","path":"/metadata/labels/a","value":"b"}]`},
		{"POST", "/api/v1/namespaces/ns/configmaps", protobufType, protobufType, "k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x07\x0a\x05\x0a\x03abc"},
		{"DELETE", "/api/v1/namespaces/ns/configmaps/d", "", "application/json", `{"gracePeriodSeconds":0,"propagationPolicy":"Foreground"}`},
		{"DELETE", "/api/v1/namespaces/ns/configmaps?dryRun=All", "", "", ""},
		{"OPTIONS", "/", "", "", ""},
	} {
		f.Add(s.method, s.target, s.header, s.typ, s.body)
	}
	p := newTarget(f)
	f.Fuzz(func(t *testing.T, method, target, accept, typ, body string) {
		p := &inProcess{&handled{Server: p.Server, TB: t}}
		if method == "" || strings.ContainsAny(method, " \x00\r\n") || method == "CONNECT" {
			return
		}
		r := p.request(method, target, strings.NewReader(body), "Accept", accept, "Content-Type", typ)
		ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond) // ends watches
		defer cancel()
		begun := time.Now()
		w := p.serve(r.WithContext(ctx))
		if faulty(w) {
			t.Errorf("%q %q (Accept %q, Content-Type %q) with %q: got %d %s", method, target, accept, typ, body, w.Code, w.Body)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%q %q with %q: took %v", method, target, body, took)
		}
	})
}

const protobufType = "application/vnd.kubernetes.protobuf"

// FuzzQuery lists, watches and deletes with any query, as a dry run.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"limit=1&continue=abc", "labelSelector=a+in+(b,c),!d,e!=f&fieldSelector=metadata.name!=c", "resourceVersion=5&resourceVersionMatch=Exact",
		"watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
		"dryRun=All&gracePeriodSeconds=-1&orphanDependents=true", "propagationPolicy=Orphan", "timeout=1ms", "pretty=1", "a=%zz&;", "includeObject=Object",
	} {
		f.Add(q)
	}
	p := newTarget(f)
	f.Fuzz(func(t *testing.T, query string) {
		p := &inProcess{&handled{Server: p.Server, TB: t}}
		for _, r := range []*http.Request{
			p.request("GET", maps+"?"+query, nil),
			p.request("GET", maps+"/c?"+query, nil),
			p.request("DELETE", maps+"/c?dryRun=All&"+query, nil),
			p.request("GET", "/api/v1/pods?"+query, nil, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1"),
		} {
			ctx, cancel := context.WithTimeout(r.Context(), 20*time.Millisecond)
			if w := p.serve(r.WithContext(ctx)); faulty(w) {
				t.Errorf("%s ?%q: got %d %s", r.Method, query, w.Code, w.Body)
			}
			cancel()
		}
		if code, _ := p.do("GET", maps+"/c", ""); code != http.StatusOK {
			t.Errorf("after ?%q the object is gone: %d", query, code)
		}
	})
}

// FuzzApply applies any configuration to an object with several field managers, and to one that
// does not exist.
func FuzzApply(f *testing.F) {
	for _, s := range []struct{ query, body string }{
		{"fieldManager=b", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`},
		{"fieldManager=b&force=true", strings.Replace(podBody, "%q", `"p"`, 1)},
		{"fieldManager=a", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b","c":null}},
			"spec":{"containers":[{"name":"web","image":"x","ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]}]}}`},
		{"fieldManager=b&dryRun=All&fieldValidation=Strict", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, finalizers: [a/b, c/d]}\n" +
			"spec:\n  containers: &all\n  - name: web\n    env: [{name: A, value: \"1\"}, {name: A}]\n  initContainers: *all\n"},
		{"fieldManager=b&force=1", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  managedFields: [{}]\nspec:\n  tolerations: [{key: a}, {key: a}]\n"},
		{"force=true", "--- {}\n---\n"},
		{"fieldManager=b", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},"spec":{"containers":[{}]},"status":{"podIPs":[{"ip":"::1"}]}}`},
	} {
		f.Add(s.query, s.body)
	}
	p := newTarget(f)
	f.Fuzz(func(t *testing.T, query, body string) {
		p := &inProcess{&handled{Server: p.Server, TB: t}}
		p.putBack()
		for _, name := range []string{"p", "q", "p/status"} {
			r := p.request("PATCH", pods+"/"+name+"?"+query, strings.NewReader(body), "Content-Type", "application/apply-patch+yaml")
			if w := p.serve(r); faulty(w) {
				t.Errorf("%s?%q %q: got %d %s", name, query, body, w.Code, w.Body)
			}
		}
		p.wantOwners("p")
		p.wantOwners("q")
	})
}

// FuzzOwners sends any managedFields with each way to write an object.
func FuzzOwners(f *testing.F) {
	for _, owners := range []string{
		`[]`, `[{}]`, `null`, `7`, `[{},{}]`, `[{"manager":"m"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2030-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}}]`,
		`[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","subresource":"status","fieldsV1":{"f:status":{"f:podIPs":{"k:{\"ip\":\"::1\"}":{"f:ip":{}}}}}}]`,
		`[{"manager":"m","operation":"Apply","apiVersion":"v9","fieldsType":"FieldsV1","fieldsV1":{"v:1":{},"i:0":{},"v:\"a\"":{},"x":{}}}]`,
		`[{"operation":"Dance","apiVersion":"v1","fieldsType":"FieldsV2","fieldsV1":{}}]`,
		`[{"operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":1}":{".":{}},"k:{":{}}}}}]`,
	} {
		f.Add(owners)
	}
	p := newTarget(f)
	f.Fuzz(func(t *testing.T, owners string) {
		p := &inProcess{&handled{Server: p.Server, TB: t}}
		p.putBack()
		whole := strings.Replace(podBody, `{"name":%q,`, `{"name":"p","managedFields":`+owners+`,`, 1)
		for _, s := range []struct{ method, path, typ, body string }{
			{"POST", pods, "application/json", strings.Replace(whole, `"name":"p"`, `"name":"q"`, 1)},
			{"PUT", pods + "/p", "application/json", whole},
			{"PUT", pods + "/p/status", "application/json", whole},
			{"PATCH", pods + "/p", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"},"managedFields":` + owners + `}}`},
			{"PATCH", pods + "/p", "application/strategic-merge-patch+json", `{"metadata":{"labels":{"a":"c"},"managedFields":` + owners + `}}`},
			{"PATCH", pods + "/p", "application/json-patch+json", `[{"op":"add","path":"/metadata/managedFields","value":` + owners + `}]`},
			{"PATCH", pods + "/p?fieldManager=b&force=true", "application/apply-patch+yaml", strings.Replace(podBody, "%q", `"p"`, 1)},
		} {
			if w := p.serve(p.request(s.method, s.path, strings.NewReader(s.body), "Content-Type", s.typ)); faulty(w) {
				t.Errorf("%s %s %q: got %d %s", s.method, s.path, s.body, w.Code, w.Body)
			}
			p.wantOwners("p")
		}
		p.wantOwners("q")
	})
}

const pods = "/api/v1/namespaces/ns/pods"

// putBack restores the pod p, with two field managers, and deletes q.
func (p *inProcess) putBack() {
	p.do("DELETE", pods+"/p?gracePeriodSeconds=0", "")
	p.do("DELETE", pods+"/q?gracePeriodSeconds=0", "")
	p.mustDo("POST", pods, strings.Replace(podBody, "%q", `"p"`, 1))
	config := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"},"annotations":{"c":"d"}}}`
	if code, body := p.do("PATCH", pods+"/p?fieldManager=a", config, "Content-Type", "application/apply-patch+yaml"); code != http.StatusOK {
		p.TB.Fatalf("apply: %d %s", code, body)
	}
}

// wantOwners requires that an object, if it exists, can be read and has valid managedFields.
func (p *inProcess) wantOwners(name string) {
	p.TB.Helper()
	code, body := p.do("GET", pods+"/"+name, "")
	if code == http.StatusNotFound && name == "q" {
		return
	}
	var read struct {
		Metadata struct {
			ManagedFields []struct {
				Operation, FieldsType string
				FieldsV1              json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &read); code != http.StatusOK || err != nil {
		p.TB.Fatalf("%s cannot be read: %d %s, %v", name, code, body, err)
	}
	for _, e := range read.Metadata.ManagedFields {
		set, err := apply.ParseFields(nil, e.FieldsV1)
		if err != nil || e.FieldsType != "FieldsV1" || e.Operation != "Apply" && e.Operation != "Update" {
			p.TB.Errorf("%s: an owner of %s, by %s: %s, %v", name, e.FieldsType, e.Operation, e.FieldsV1, err)
			continue
		}
		if again := set.AppendFields(nil, nil); string(again) != string(e.FieldsV1) {
			p.TB.Errorf("%s: fields %s are written %s", name, e.FieldsV1, again)
		}
	}
}
