package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/server"
)

// maxPerRequest is the number of bytes that a bad request may allocate, garbage included. The
// largest bodies have 3 MiB, and are held as text, as a tree, and as the JSON from which
// managedFields are computed.
const maxPerRequest = 160 << 20

// listOf makes a list of elements for a body of JSON.
func listOf(element string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// entries returns n entries of a JSON map. format gets the number of each.
func entries(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+",", i)
	}
	return "{" + strings.TrimSuffix(b.String(), ",") + "}"
}

// bad sends an invalid request. The answer must be an error of the client (4xx) as a Status, or a
// plain 404 for an unknown path. The request must not allocate more than maxPerRequest.
func (p *inProcess) bad(name, method, target string, body io.Reader, header ...string) (int, string) {
	p.TB.Helper()
	r := p.request(method, target, body, header...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := p.serve(r)
	runtime.ReadMemStats(&after)
	answer := w.Body.String()
	if cost := after.TotalAlloc - before.TotalAlloc; cost > maxPerRequest {
		p.TB.Errorf("%s: cost %d MiB", name, cost>>20)
	}
	if w.Code < 400 || w.Code >= 500 {
		p.TB.Errorf("%s: got %d %.300s, want an error of the client's", name, w.Code, answer)
		return w.Code, answer
	}
	s := status(answer)
	plain := w.Code == http.StatusNotFound && (answer == "404 page not found\n" || strings.HasPrefix(target, "/openapi/v3/") && answer == "")
	if !plain && (s.Kind != "Status" || s.Code != w.Code || s.Reason == "" || s.Message == "") {
		p.TB.Errorf("%s: got %d %.300s, want a Status", name, w.Code, answer)
	}
	return w.Code, answer
}

func TestBadPaths(t *testing.T) {
	p := newInProcess(t)
	p.mustDo("POST", maps, configMap("c", "v"))
	long := strings.Repeat("a", 900_000)
	for _, path := range []string{
		"/api/v1/namespaces/ns/configmaps/..", "/api/v1/namespaces/../configmaps/c", "/api/v1/namespaces/ns/configmaps/.",
		"/api/v1/namespaces/ns/../ns/configmaps/c", "/api/v1/./namespaces/ns/configmaps/c", "/api/v1/namespaces/ns/configmaps/%2e%2e",
		"/api/v1/namespaces/ns/configmaps/..%2f..%2fsecrets%2fx", "/api/v1/namespaces/ns%2fconfigmaps%2fx/secrets/y",
		"/api/v1/namespaces/ns/configmaps/a%00b", "/api/v1/namespaces/ns/configmaps/%ff%fe", "/api/v1/namespaces/ns//configmaps//c",
		"/api/v1/namespaces/ns/configmaps/c%25", "/api/v1/namespaces/ns/configmaps/c/", "/api/v1/namespaces/ns/configmaps/c/status/../..",
		"//api//v1//namespaces//ns//configmaps//c", "/../api/v1/namespaces", "/api/../api/v1/namespaces/none",
		"/api/v1/namespaces/" + long + "/configmaps/x", "/api/v1/namespaces/ns/configmaps/" + long, "/" + long, "/apis/" + long + "/v1/x",
		"/" + strings.Repeat("a/", 400_000), "/api/v1" + strings.Repeat("/", 800_000) + "x", "/apis/" + strings.Repeat("../", 200_000),
		"/openapi/v3/../../etc/passwd", "/openapi/v3/" + long, "/debug/pprof/../../x", "/version/..", "/livez/../x", "/metrics/",
		"/api/v1/namespaces/ns/pods/p/proxy/" + long, "/api/v1/proxy/namespaces/ns/pods/p/x", "/api/v1/watch/",
		"/api/v1/namespaces/ns/configmaps/c/scale/x/y/z", "/healthz/../readyz",
	} {
		if path == "/api/v1/namespaces/ns/configmaps/c/" || path == "/api/v1/watch/" {
			continue // the first is a valid path of c; the second gets the same 500 as from kube-apiserver
		}
		name := path
		if len(name) > 60 {
			name = fmt.Sprintf("%.60s... (%d)", path, len(path))
		}
		p.bad(name, "GET", path, nil)
		p.bad("DELETE "+name, "DELETE", path, nil)
	}
	if code, _ := p.do("GET", maps+"/c", ""); code != 200 {
		t.Errorf("the object that was to stay: %d", code)
	}
}

// nested returns values that are nested depth levels deep.
func nested(open, core, end string, depth int) string {
	return strings.Repeat(open, depth) + core + strings.Repeat(end, depth)
}

// aliases returns a YAML bomb: each level repeats the level before ten times.
func aliases(levels int) string {
	var b strings.Builder
	b.WriteString("kind: ConfigMap\napiVersion: v1\nmetadata: {name: bomb}\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

// endless is a body that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestBadBodies(t *testing.T) {
	p := newInProcess(t)
	const limit = 3 << 20
	yaml, proto := "application/yaml", "application/vnd.kubernetes.protobuf"
	for _, tt := range []struct{ name, typ, body string }{
		{"nested lists", "", `{"metadata":{"name":"a"},"x":` + nested("[", "", "]", 1_000_000) + "}"},
		{"nested objects", "", nested(`{"a":`, "1", "}", 500_000)},
		{"nested lists that do not end", "", strings.Repeat("[", 3_000_000)},
		{"nested YAML", yaml, "a: " + nested("[", "", "]", 100_000)},
		{"nested YAML blocks", yaml, strings.Repeat("- ", 100_000) + "x"},
		{"YAML bomb", yaml, aliases(9)},
		{"YAML bomb of maps", yaml, strings.NewReplacer("[", "{<<: [", "]", "]}").Replace(aliases(8))},
		{"YAML that refers to itself", yaml, "a: &a [*a]\n"},
		{"YAML tags", yaml, "metadata: !!binary {name: !!int x}\n"},
		{"too large", "", `{"metadata":{"name":"a"}}` + strings.Repeat(" ", limit)},
		{"a number without an end", "", `{"metadata":{"name":"a","generation":` + strings.Repeat("9", 1_000_000) + `}}`},
		{"an exponent", "", `{"metadata":{"name":"a","generation":1e999999999}}`},
		{"invalid UTF-8 in a name", "", "{\"metadata\":{\"name\":\"a\xff\"}}"},
		{"invalid UTF-8 in a label", "", "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\xc0\":\"\xfe\"}}}"},
		{"half an escape", "", `{"metadata":{"name":"\ud800"}}`},
		{"NUL", "", "{\"metadata\":{\"name\":\"a\x00\"}}"},
		{"nothing", "", ""},
		{"a string", "", `"x"`}, {"null", "", `null`}, {"two objects", "", `{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}`},
		{"garbage", "", "\x00\x01\x02\xff"},
		{"protobuf: nothing", proto, ""}, {"protobuf: no prefix", proto, "{}"}, {"protobuf: prefix alone", proto, "k8s\x00"},
		{"protobuf: cut", proto, "k8s\x00\x0a\x10"}, {"protobuf: a length beyond the end", proto, "k8s\x00\x12\xff\xff\xff\xff\x0f"},
		{"protobuf: a varint without an end", proto, "k8s\x00" + strings.Repeat("\xff", 1000)},
		{"protobuf: groups", proto, "k8s\x00" + strings.Repeat("\x0b", 100_000)},
		{"protobuf: wrong wire types", proto, "k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x04\x08\x01\x10\x02"},
		{"protobuf as JSON", "", "k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x00"},
		{"other type", "text/plain", "{}"}, {"no type", ";;;", "{}"},
		{"many labels", "", `{"metadata":{"name":"a","annotations":{` + strings.TrimSuffix(strings.Repeat(`"k":"`+strings.Repeat("v", 1000)+`",`, 1), ",") + `,"big":"` + strings.Repeat("v", 300_000) + `"}}}`},
	} {
		if tt.typ == "" {
			tt.typ = "application/json"
		}
		p.bad(tt.name, "POST", maps, strings.NewReader(tt.body), "Content-Type", tt.typ)
		p.bad("PUT "+tt.name, "PUT", maps+"/a", strings.NewReader(tt.body), "Content-Type", tt.typ)
		p.bad("DELETE "+tt.name, "DELETE", maps+"/none", strings.NewReader(tt.body), "Content-Type", tt.typ)
	}
	e := &endless{}
	if code, _ := p.bad("a body without an end", "POST", maps, e); code != http.StatusRequestEntityTooLarge || e.read > limit+1<<20 {
		t.Errorf("a body without an end: got %d after %d bytes", code, e.read)
	}
	e = &endless{}
	r := p.request("POST", maps, e)
	r.ContentLength = 1 << 40
	if w := p.serve(r); w.Code != http.StatusRequestEntityTooLarge || e.read != 0 {
		t.Errorf("a terabyte announced: got %d after %d bytes", w.Code, e.read)
	}
}

func TestBadPatches(t *testing.T) {
	p := newInProcess(t)
	p.mustDo("POST", maps, configMap("c", strings.Repeat("x", 100_000)))
	const jsonPatch, merge, strategic = "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"
	var doubling []string
	for i := range 60 {
		doubling = append(doubling, fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/x%d"}`, i))
	}
	ops := func(n int, op string) string { return "[" + strings.TrimSuffix(strings.Repeat(op+",", n), ",") + "]" }
	for _, tt := range []struct{ name, typ, body string }{
		{"copies that double", jsonPatch, "[" + strings.Join(doubling, ",") + "]"},
		{"10,001 operations", jsonPatch, ops(10_001, `{"op":"test","path":"/kind","value":"ConfigMap"}`)},
		{"no list", jsonPatch, `{}`}, {"unknown operation", jsonPatch, ops(1, `{"op":"burn","path":"/data"}`)},
		{"a path into nothing", jsonPatch, ops(1, `{"op":"remove","path":"/a/b/c"}`)},
		{"an index without an end", jsonPatch, ops(1, `{"op":"add","path":"/metadata/finalizers/99999999999999999999","value":1}`)},
		{"a negative index", jsonPatch, ops(1, `{"op":"add","path":"/metadata/finalizers/-5","value":1}`)},
		{"the whole object", jsonPatch, ops(1, `{"op":"replace","path":"","value":[]}`)},
		{"remove everything", jsonPatch, ops(1, `{"op":"remove","path":""}`)},
		{"into itself", jsonPatch, ops(1, `{"op":"move","from":"/data","path":"/data/x"}`)},
		{"a nested path", jsonPatch, ops(1, `{"op":"test","path":"`+strings.Repeat("/a", 500_000)+`"}`)},
		{"nested merge", merge, nested(`{"a":`, "1", "}", 400_000)},
		{"nested strategic merge", strategic, nested(`{"a":`, "1", "}", 400_000)},
		{"merge with no object", merge, `[]`}, {"merge with half an object", merge, `{"a":`},
		{"unknown directive", strategic, `{"metadata":{"$patch":"burn"}}`},
		{"directives that are no strings", strategic, `{"$patch":5,"$retainKeys":7,"$setElementOrder/x":{}}`},
		{"a list for an object", strategic, `{"data":[1,2]}`},
		{"too large", merge, `{"data":{"x":"` + strings.Repeat("x", 3<<20) + `"}}`},
		{"apply as YAML bomb", "application/apply-patch+yaml", aliases(9)},
		{"no type", "", `{}`},
	} {
		p.bad(tt.name, "PATCH", maps+"/c", strings.NewReader(tt.body), "Content-Type", tt.typ)
	}
}

func TestBadQueries(t *testing.T) {
	p := newInProcess(t)
	token := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	many := strings.TrimSuffix(strings.Repeat("a=b,", 100_000), ",")
	for _, query := range []string{
		"limit=x", "limit=1e9", "limit=99999999999999999999", "timeoutSeconds=x", "continue=%ff", "continue=" + strings.Repeat("A", 500_000),
		"continue=" + token(`{"v":"meta.k8s.io/v1","rv":1,"start":"../../x"}`), "continue=" + token(`{"v":"meta.k8s.io/v1","rv":-5,"start":"x"}`),
		"continue=" + token(strings.Repeat("[", 3000)), "resourceVersion=x", "resourceVersion=-1", "resourceVersion=1.5",
		"resourceVersion=99999999999999999999999", "resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=Nearly",
		"labelSelector=%3D", "labelSelector=a+in", "labelSelector=a+in+(" + strings.Repeat("(", 10_000), "labelSelector=" + strings.Repeat("!", 10_000),
		"labelSelector=%ff%3D%fe", "labelSelector=a%3D" + strings.Repeat("b", 500_000), "fieldSelector=x", "fieldSelector=spec.none%3Dx",
		"fieldSelector=" + strings.Repeat("a.", 100_000) + "%3D1", "fieldSelector=metadata.name%3Da%5C", "sendInitialEvents=true",
		"watch=1&sendInitialEvents=true", "watch=1&resourceVersion=x", "watch=1&limit=x", "watch=1&continue=x&sendInitialEvents=true",
		"limit=x&limit=5", "timeout=x", "timeout=5",
		// kube-apiserver ignores the parts of these that it cannot parse, and serves the rest.
		"%zz=1", "labelSelector=a;dryRun=All", "limit=%", strings.Repeat("x=y&", 100_000) + "dryRun=All", strings.Repeat("&", 10_000),
	} {
		name := query
		if len(name) > 80 {
			name = fmt.Sprintf("%.80s... (%d)", query, len(query))
		}
		p.bad("?"+name, "GET", maps+"?"+query, nil)
	}
	// Unusual but valid.
	for _, query := range []string{
		"limit=5&limit=x", "limit=-7", "limit=9223372036854775807", "pretty=%ff", "=&&", strings.Repeat("x=y&", 9_999), "labelSelector=" + many,
		"resourceVersion=0", "continue=", "dryRun=All", "labelSelector=&fieldSelector=", "watch=0", "watch=false",
	} {
		if code, body := p.do("GET", maps+"?"+query, ""); code != 200 {
			t.Errorf("?%.80s: got %d %.200s, want 200", query, code, body)
		}
	}
	for _, accept := range []string{strings.Repeat("a/b,", 100_000), "\xff", ";;;,,,", "application/json;q=x", "application/json;as=;v=;g=", "*", "*/*;q=0"} {
		if w := p.serve(p.request("GET", maps, nil, "Accept", accept)); w.Code >= 500 {
			t.Errorf("Accept %.40q: got %d %.200s", accept, w.Code, w.Body)
		}
	}
}

// TestManyWatches opens 2000 watches. Each costs bounded memory, and after their end no goroutine
// is left.
func TestManyWatches(t *testing.T) {
	const n = 2000
	p := newInProcess(t)
	p.mustDo("POST", maps, configMap("c", "v"))
	p.mustDo("GET", maps, "") // loads the cache
	before := runtime.NumGoroutine()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	empty := heap()
	ctx, cancel := context.WithCancel(t.Context())
	got, ended := make(chan int, n), make(chan struct{}, n)
	for range n {
		go func() {
			w := &streamWriter{sink{header: http.Header{}}, func(n int) { got <- n }}
			p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", maps+"?watch=1", nil))
			ended <- struct{}{}
		}()
	}
	for range n {
		<-got
	}
	if each := (heap() - empty) / n; each > 64<<10 {
		t.Errorf("a watch costs %d KiB", each>>10)
	}
	if code, _ := p.do("GET", maps+"/c", ""); code != 200 {
		t.Errorf("a GET beside %d watches: %d", n, code)
	}
	cancel()
	for range n {
		<-ended
	}
	for wait := time.Millisecond; runtime.NumGoroutine() > before; wait *= 2 {
		if wait > time.Second {
			t.Fatalf("%d goroutines are left, there were %d", runtime.NumGoroutine(), before)
		}
		time.Sleep(wait)
	}
}

// TestFlood sends more requests at once than may run: the rest get 429. Strangers have seats of
// their own.
func TestFlood(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) {
		c.Limits.MaxReads, c.Limits.MaxWrites = 2, 1
		c.Authentication.Authenticators = aliceOnly(t)
	})
	alice := []string{"Authorization", "Bearer alice-token"}
	block, blocked := make(chan struct{}), make(chan struct{}, 10)
	if err := p.HandleGet("/block", func(http.ResponseWriter, *http.Request) error { blocked <- struct{}{}; <-block; return nil }); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	for _, credentials := range [][]string{alice, alice, nil} {
		go func() { p.do("GET", "/block", "", credentials...); done <- struct{}{} }()
		<-blocked
	}
	for _, credentials := range [][]string{alice, nil} {
		w := p.serve(p.request("GET", maps, nil, credentials...))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || status(w.Body.String()).Reason != "TooManyRequests" {
			t.Errorf("one too many: got %d %v %s", w.Code, w.Header(), w.Body)
		}
		if code, _ := p.do("GET", "/readyz/ping", "", credentials...); code != 200 {
			t.Errorf("health beside them: got %d", code)
		}
		if code, _ := p.do("POST", maps, configMap(fmt.Sprintf("a%d", len(credentials)), ""), credentials...); code != http.StatusCreated {
			t.Errorf("a write beside them: got %d", code)
		}
	}
	close(block)
	for range 3 {
		<-done
	}
	if code, _ := p.do("GET", maps, ""); code != 200 {
		t.Errorf("afterwards: got %d", code)
	}
}

// aliceOnly authenticates one ordinary user by the token "alice-token".
func aliceOnly(tb testing.TB) []request.Authenticator {
	tb.Helper()
	tokens, err := authn.ReadTokens(strings.NewReader("alice-token,alice,2,dev\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return []request.Authenticator{authn.Bearer(tokens)}
}
