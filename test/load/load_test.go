package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun measures the limit server as if it were a real one, in every scenario.
func TestRun(t *testing.T) {
	p := plan{scenarios: scenarioNames(), protocols: protocols, objects: 20, size: 50, clients: 4,
		duration: 5 * time.Millisecond, rounds: 2, watchers: 5, writes: 30}
	for _, kind := range kinds {
		p.kind, p.stripped = kind, kind.name == "pod"
		kubeconfig := serveAsReal(t, p)
		var out bytes.Buffer
		if err := run(t.Context(), p, []string{"a=" + kubeconfig, "b=" + kubeconfig + "@1+2"}, false, &out); err != nil {
			t.Fatal(err)
		}
		tables := strings.Split(out.String(), "\n\n")[1:] // the text before each table
		if len(tables) != len(protocols) {
			t.Fatalf("got %d tables, want one for each of HTTP/%v:\n%s", len(tables), protocols, out.String())
		}
		for i, table := range tables {
			for _, name := range append(scenarioNames(), "HTTP/"+protocols[i], "a op/s", "b op/s", "b:a") {
				if !strings.Contains(table, name) {
					t.Errorf("the table lacks %q:\n%s", name, table)
				}
			}
		}
	}
}

func TestRunRefuses(t *testing.T) {
	p := plan{kind: kindNamed("configmap"), objects: 1, clients: 1}
	kubeconfig := serveAsReal(t, p)
	p.protocols = []string{"3"}
	if err := run(t.Context(), p, []string{"a=" + kubeconfig}, false, io.Discard); err == nil {
		t.Error("HTTP/3 was measured")
	}
	p.protocols, p.scenarios = protocols, []string{"nothing"}
	if err := run(t.Context(), p, []string{"a=" + kubeconfig}, false, io.Discard); err == nil {
		t.Error("an unknown scenario ran")
	}
}

// serveAsReal serves the limit server's handler over TLS and returns a kubeconfig for it.
func serveAsReal(t *testing.T, p plan) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(newLimit(limitConfig{p.kind.name, p.objects, p.size}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := "clusters:\n- cluster:\n    insecure-skip-tls-verify: true\n    server: " + srv.URL + "\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestBodies(t *testing.T) {
	if kindNamed("none") != nil {
		t.Error("there is a kind called none")
	}
	for _, k := range kinds {
		field := fmt.Sprintf(k.field, "n", "s")
		for _, body := range []string{string(k.object(7, 3, "s")), fmt.Sprintf(k.patch, "s"), field} {
			if !json.Valid([]byte(body)) || !strings.Contains(body, `"s"`) {
				t.Errorf("%s: no JSON, or not its state: %s", k.name, body)
			}
		}
		for _, body := range []string{string(whole(k.yaml, 7, 3, "s")), fmt.Sprintf(k.inYAML, objectName(7), "s")} {
			if !strings.Contains(body, "  name: object-000007\n") || !strings.Contains(body, `"s"`) || strings.Contains(body, "%!") {
				t.Errorf("%s: not its name or state: %s", k.name, body)
			}
		}
	}
}

func TestParseTarget(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a@b") // the PIDs come behind the last @
	if err := os.WriteFile(file, []byte("server: https://h:1/\nusers:\n- user:\n    token: \"abc\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := parseTarget("x="+file+"@12+34", "2", plan{kind: kindNamed("pod")})
	if err != nil || got.name != "x" || got.url != "https://h:1" || got.token != "abc" || len(got.pids) != 2 || got.pids[1] != 34 {
		t.Errorf("parseTarget: got %+v, %v", got, err)
	}
	for _, bad := range []string{"x", "x=" + dir + "/none", "x=" + file + "@pid"} {
		if _, err := parseTarget(bad, "2", plan{kind: kindNamed("pod")}); err == nil {
			t.Errorf("parseTarget(%q): no error", bad)
		}
	}
}

func TestKubeconfigData(t *testing.T) {
	for _, bad := range []string{"", "server: x\nclient-key-data: ?", "server: x\nclient-certificate-data: YQ=="} {
		if _, err := new(target).readKubeconfig(bad); err == nil {
			t.Errorf("readKubeconfig(%q): no error", bad)
		}
	}
	var config *tls.Config
	config, err := new(target).readKubeconfig("server: x\ninsecure-skip-tls-verify: true")
	if err != nil || !config.InsecureSkipVerify {
		t.Errorf("got %+v, %v", config, err)
	}
}

func TestMeasure(t *testing.T) {
	pids := []int{os.Getpid()}
	before := cpuOf(pids)
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
	}
	if cpuOf(pids) <= before || peakMemory(pids) < 1<<20 {
		t.Errorf("CPU before %v, now %v; memory %d", before, cpuOf(pids), peakMemory(pids))
	}
	r := func(ops int, cpu time.Duration) *result { return &result{ops: ops, cpu: cpu, wall: time.Second} }
	if got := median([]*result{r(1, 3), r(1, 1), r(1, 2)}); got.cpu != 2 {
		t.Errorf("median: got %v", got.cpu)
	}
	lat := &result{latency: []time.Duration{3, 1, 2}}
	if got := lat.percentile(.5); got != 2 {
		t.Errorf("p50: got %v", got)
	}
	for _, tt := range []struct {
		r, base *result
		want    string
	}{
		{r(10, 30), r(10, 10), "3.00"}, {r(10, 0), r(20, 0), "(2.00)"}, {nil, r(1, 1), "-"},
	} {
		if got := ratio(tt.r, tt.base); got != tt.want {
			t.Errorf("ratio: got %s, want %s", got, tt.want)
		}
	}
}

func TestSample(t *testing.T) {
	var w watcher
	rest := w.sample([]byte(`{"x":1}` + "\n" + `{"data":{"state":"at1000"}}` + "\n" + `{"data":{"sta`))
	if string(rest) != `{"data":{"sta` || len(w.latency) != 1 {
		t.Errorf("got %q and %v", rest, w.latency)
	}
}

func TestMetaOf(t *testing.T) {
	list := []byte(`{"kind":"L","metadata":{"resourceVersion":"12","continue":"a"},"items":[{"continue":"b"}]}`)
	for field, want := range map[string]string{"resourceVersion": "12", "continue": "a", "other": ""} {
		if got := metaOf(list, field); got != want {
			t.Errorf("metaOf(%s): got %q, want %q", field, got, want)
		}
	}
	if got := metaOf([]byte(`{"metadata":{},"items":[{"continue":"b"}]}`), "continue"); got != "" {
		t.Errorf("metaOf: got %q of an item", got)
	}
}

// TestDefinitions measures definitions on a server that establishes each definition at the second
// read.
func TestDefinitions(t *testing.T) {
	asked := map[string]int{}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, _ := io.ReadAll(r.Body); r.Method == http.MethodPost {
			if !json.Valid(data) || len(data) < 5000 || len(data) > 10_000 {
				t.Errorf("a definition of %d bytes, or no JSON", len(data))
			}
			w.WriteHeader(http.StatusCreated)
			return
		}
		asked[r.URL.Path]++
		fmt.Fprintf(w, `{"status":{"conditions":[{"type":"Established","status":"%v"}]}}`, map[bool]string{true: "True", false: "False"}[asked[r.URL.Path] > 1])
	}))
	defer srv.Close()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := "clusters:\n- cluster:\n    insecure-skip-tls-verify: true\n    server: " + srv.URL + "\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := plan{kind: kindNamed("configmap"), size: 8000}
	if err := measureDefinitions(t.Context(), p, 3, 0, []string{"a=" + kubeconfig}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "a: established p50 ") || len(asked) != 7 { // three paths for each definition, and OpenAPI
		t.Errorf("asked %v, and said %q", asked, out.String())
	}
}

// TestUpdateNamesVersion wants updates to have a resourceVersion if the kind is conditional, and
// otherwise not.
func TestUpdateNamesVersion(t *testing.T) {
	for _, k := range kinds {
		target := &target{kind: k}
		target.remember([]byte(`{"metadata":{"name":"object-000003","resourceVersion":"12"}}`))
		for i, want := range map[int]bool{3: k.conditional, 4: false} {
			body := target.update(i, plan{size: 3}, "s").body
			if !json.Valid(body) || strings.Contains(string(body), `"resourceVersion":"12"`) != want {
				t.Errorf("%s: an update of %d is %s", k.name, i, body)
			}
		}
	}
}
