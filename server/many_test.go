//go:build !race

package server_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// maxAnswer is the largest length, in bytes, of the answer to a request with many mistakes.
const maxAnswer = 512 << 10

// TestManyMistakes sends bodies in which nearly everything is wrong. The answer has the first
// mistakes and says that there are more. It costs little more than to read the body.
func TestManyMistakes(t *testing.T) {
	p := newInProcess(t)
	p.mustDo("POST", maps, configMap("a", "v"))
	const pods = "/api/v1/namespaces/ns/pods"
	var owners strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&owners, `%c{"uid":"%d"}`, "[,"[min(i, 1)], i)
	}
	owners.WriteString("]")
	long := strings.Repeat("<", 1<<20)
	meta := func(fields string) string { return `{"metadata":{"name":"a",` + fields + `}}` }
	spec := func(fields string) string {
		return `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a"}],` + fields + `}}`
	}
	for _, tt := range []struct{ name, path, body string }{
		{"finalizers", maps, meta(`"finalizers":` + listOf(`""`, 1_000_000))},
		{"owners that differ", maps, meta(`"ownerReferences":` + owners.String())},
		{"labels", maps, meta(`"labels":` + entries(`"?%d":"?"`, 200_000))},
		{"annotations", maps, meta(`"annotations":` + entries(`"?%d":""`, 150_000))},
		{"a long name", maps, `{"metadata":{"name":"` + long + `"}}`},
		{"a long label", maps, meta(`"labels":{"` + long + `":"` + long + `"}`)},
		{"data", maps, `{"metadata":{"name":"a"},"data":` + entries(`"?%d":""`, 250_000) + `}`},
		{"containers", pods, `{"metadata":{"name":"a"},"spec":{"containers":` + listOf("{}", 40_000) + `}}`},
		{"variables", pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"env":` + listOf("{}", 400_000) + `}]}}`},
		{"claims", pods, spec(`"resourceClaims":` + listOf(`{}`, 500_000))},
		{"tolerations", pods, spec(`"tolerations":` + listOf(`{"key":"?"}`, 250_000))},
		{"topologies", pods, spec(`"topologySpreadConstraints":` + listOf(`{}`, 150_000))},
	} {
		if len(tt.body) > 3<<20 {
			t.Fatalf("%s: a body of %d bytes", tt.name, len(tt.body))
		}
		if _, answer := p.bad(tt.name, "POST", tt.path, strings.NewReader(tt.body)); len(answer) > maxAnswer || status(answer).Reason != "Invalid" {
			t.Errorf("%s: got %d bytes: %.200s", tt.name, len(answer), answer)
		}
		if tt.path != maps || strings.HasPrefix(tt.name, "a long name") {
			continue
		}
		if _, answer := p.bad("PUT "+tt.name, "PUT", maps+"/a", strings.NewReader(tt.body)); len(answer) > maxAnswer || status(answer).Reason != "Invalid" {
			t.Errorf("PUT %s: got %d bytes: %.200s", tt.name, len(answer), answer)
		}
	}
	p.mustDo("POST", pods, spec(`"hostname":"a"`))
	ephemeral := spec(`"ephemeralContainers":` + listOf("{}", 40_000))
	if _, answer := p.bad("ephemeral containers", "PUT", pods+"/a/ephemeralcontainers", strings.NewReader(ephemeral)); len(answer) > maxAnswer ||
		status(answer).Reason != "Invalid" {
		t.Errorf("ephemeral containers: got %d bytes: %.200s", len(answer), answer)
	}
}

// TestManyWarnings sends valid bodies that cause more warnings than an answer may have.
func TestManyWarnings(t *testing.T) {
	p := newInProcess(t)
	const pods = "/api/v1/namespaces/ns/pods"
	for _, tt := range []struct{ name, path, typ, body string }{
		{"YAML keys", maps, "application/yaml", "metadata: {name: yaml}\ndata:\n" + strings.Repeat("  a: b\n", 50_000)},
		{"JSON keys", maps, "application/json", `{"metadata":{"name":"json"},"data":{` + strings.Repeat(`"a":"b",`, 200_000) + `"a":"b"}}`},
		{"unknown fields", maps, "application/json", `{"metadata":{"name":"unknown"},` + entries(`"f%d":1`, 200_000)[1:]},
		{"owners", maps, "application/json", `{"metadata":{"name":"owned","ownerReferences":` +
			listOf(`{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}`, 50_000) + `}}`},
		{"variables", pods, "application/json", `{"metadata":{"name":"variables"},"spec":{"containers":[{"name":"c","image":"i","env":` +
			listOf(`{"name":"A","value":"b"}`, 40_000) + `}]}}`},
	} {
		r := p.request("POST", tt.path, strings.NewReader(tt.body), "Content-Type", tt.typ)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := p.serve(r)
		runtime.ReadMemStats(&after)
		if w.Code != 201 {
			t.Fatalf("%s: got %d %.300s", tt.name, w.Code, w.Body)
		}
		sent := w.Header()["Warning"]
		if n := len(strings.Join(sent, "")); len(sent) == 0 || n > 8<<10 {
			t.Errorf("%s: got %d warnings of %d bytes", tt.name, len(sent), n)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > maxPerRequest {
			t.Errorf("%s: cost %d MiB", tt.name, cost>>20)
		}
	}
	if _, body := p.do("GET", maps+"/owned", ""); strings.Count(body, `"uid":"u"`) != 1 {
		t.Errorf("owner references: got %.300s, want one", body)
	}
}
