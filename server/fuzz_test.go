package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
)

// newTarget is the server that fuzz targets talk to, and what a request finds there.
func newTarget(f *testing.F) *inProcess {
	p := newInProcess(f, func(c *server.Config) { c.Limits.RequestTimeout = 10 * time.Second })
	p.mustDo("POST", maps, configMap("c", "v"))
	p.mustDo("POST", maps, configMap("d", "v"))
	p.mustDo("POST", "/api/v1/namespaces/ns/pods", strings.Replace(podBody, "%q", `"p"`, 1))
	return p
}

// faulty reports whether an answer is that of a panic, or any other fault of the server's. Unavailable and busy
// servers, and timeouts, are none.
func faulty(w *httptest.ResponseRecorder) bool {
	return w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "unable to determine kind and namespace")
}

// FuzzServer sends anything to the whole server: it must not panic, blame itself or hang.
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
		p := &inProcess{p.Server, t}
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

// FuzzQuery lists, watches and deletes, dry, with any query.
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
		p := &inProcess{p.Server, t}
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
