package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/cmd/wardle/hub"
	"github.com/coracle-project/coracle/cmd/wardle/v1alpha1"
	"github.com/coracle-project/coracle/cmd/wardle/v1beta1"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schemetest"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	alpha = "/apis/wardle.example.com/v1alpha1"
	beta  = "/apis/wardle.example.com/v1beta1"
)

// wardleServer is a running server and the test that it belongs to.
type wardleServer struct {
	*servertest.Server
	t *testing.T
}

func start(t *testing.T) *wardleServer { return &wardleServer{servertest.Start(t, config()), t} }

// send makes a request and returns the open answer.
func (s *wardleServer) send(method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// do makes a request and returns the code and what the JSON answer has at each path, such as
// "spec.reference".
func (s *wardleServer) do(method, path, body string, header ...string) (code int, at func(path string) any) {
	s.t.Helper()
	resp := s.send(method, path, body, header...)
	defer resp.Body.Close()
	return resp.StatusCode, decode(s.t, json.NewDecoder(resp.Body))
}

func decode(t *testing.T, d *json.Decoder) func(path string) any {
	t.Helper()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("the answer is no JSON: %v", err)
	}
	return func(path string) any {
		v := tree
		for name := range strings.SplitSeq(path, ".") {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		return v
	}
}

// must sends a request that has to succeed.
func (s *wardleServer) must(method, path, body string, header ...string) func(path string) any {
	s.t.Helper()
	code, at := s.do(method, path, body, header...)
	if code >= 300 {
		s.t.Fatalf("%s %s: got %d: %v", method, path, code, at("message"))
	}
	return at
}

func flunderJSON(name, spec string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`
}

// TestVersions creates each object in one version and reads it in the other. Missing fields get
// their defaults.
func TestVersions(t *testing.T) {
	s := start(t)
	for _, tt := range []struct {
		name, in, spec, out string
		want                map[string]any
	}{
		{"alpha-default", alpha, `"reference":"x"`, beta, map[string]any{"flunderReference": "x", "referenceType": "Flunder", "priority": "low"}},
		{"alpha-fischer", alpha, `"reference":"x","referenceType":"Fischer"`, beta, map[string]any{"fischerReference": "x", "referenceType": "Fischer", "priority": "low"}},
		{"alpha-none", alpha, ``, beta, map[string]any{"priority": "low"}},
		{"beta-flunder", beta, `"flunderReference":"x"`, alpha, map[string]any{"reference": "x", "referenceType": "Flunder", "priority": "low"}},
		{"beta-fischer", beta, `"fischerReference":"x"`, alpha, map[string]any{"reference": "x", "referenceType": "Fischer", "priority": "low"}},
		{"beta-high", beta, `"priority":"high"`, alpha, map[string]any{"priority": "high"}},
		{"beta-none", beta, ``, alpha, map[string]any{"priority": "low"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := "/namespaces/default/flunders"
			created := s.must("POST", tt.in+path, flunderJSON(tt.name, tt.spec))
			got := s.must("GET", tt.out+path+"/"+tt.name, "")
			if spec := got("spec"); !reflect.DeepEqual(spec, any(tt.want)) {
				t.Errorf("spec: got %v, want %v", spec, tt.want)
			}
			if v := got("apiVersion"); "/apis/"+v.(string) != tt.out {
				t.Errorf("apiVersion: got %v", v)
			}
			back := s.must("GET", tt.in+path+"/"+tt.name, "")
			if !reflect.DeepEqual(back("spec"), created("spec")) || !reflect.DeepEqual(back("metadata"), created("metadata")) {
				t.Errorf("back in the first version: got %v %v, want %v %v", back("metadata"), back("spec"), created("metadata"), created("spec"))
			}
		})
	}
}

// TestWatchOtherVersion writes an object in one version, and reads it by watch, list and patch in
// the other.
func TestWatchOtherVersion(t *testing.T) {
	s := start(t)
	resp := s.send("GET", beta+"/namespaces/default/flunders?watch=true", "")
	defer resp.Body.Close()
	events := json.NewDecoder(bufio.NewReader(resp.Body))
	s.must("POST", alpha+"/namespaces/default/flunders", flunderJSON("one", `"reference":"x"`))
	s.must("PATCH", alpha+"/namespaces/default/flunders/one", `{"spec":{"reference":"y"}}`, "Content-Type", "application/merge-patch+json")
	s.must("DELETE", alpha+"/namespaces/default/flunders/one", "")
	for _, want := range []struct{ event, reference string }{{"ADDED", "x"}, {"MODIFIED", "y"}, {"DELETED", "y"}} {
		at := decode(t, events)
		if at("type") != want.event || at("object.apiVersion") != "wardle.example.com/v1beta1" || at("object.spec.flunderReference") != want.reference {
			t.Errorf("event: got %v %v %v, want %v", at("type"), at("object.apiVersion"), at("object.spec"), want)
		}
	}
}

func TestValidation(t *testing.T) {
	s := start(t)
	for _, tt := range []struct{ name, version, spec, field, message string }{
		{"both", beta, `"flunderReference":"x","fischerReference":"y"`, "spec.fischerReference",
			`Invalid value: "y": cannot be set with flunderReference at the same time`},
		{"wrong-type", beta, `"flunderReference":"x","referenceType":"Fischer"`, "spec.fischerReference", `Required value: referenceType is Fischer`},
		{"no-reference", alpha, `"referenceType":"Flunder"`, "spec.flunderReference", `Required value: referenceType is Flunder`},
		{"unknown-type", alpha, `"reference":"x","referenceType":"Carp"`, "spec.referenceType",
			`Unsupported value: "Carp": supported values: "Fischer", "Flunder"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, at := s.do("POST", tt.version+"/namespaces/default/flunders", flunderJSON(tt.name, tt.spec))
			want := `Flunder.wardle.example.com "` + tt.name + `" is invalid: ` + tt.field + ": " + tt.message
			if code != http.StatusUnprocessableEntity || at("reason") != "Invalid" || at("message") != want {
				t.Errorf("got %d %v %v, want 422 %s", code, at("reason"), at("message"), want)
			}
			cause := at("details.causes").([]any)[0].(map[string]any)
			if cause["field"] != tt.field {
				t.Errorf("cause: got %v, want %s", cause, tt.field)
			}
		})
	}
}

func TestBan(t *testing.T) {
	s := start(t)
	s.must("POST", beta+"/namespaces/default/flunders", flunderJSON("before", ""))
	s.must("POST", alpha+"/fischers", `{"metadata":{"name":"carp"},"disallowedFlunders":["bad","before"]}`)
	for _, version := range []string{alpha, beta} {
		code, at := s.do("POST", version+"/namespaces/default/flunders", flunderJSON("bad", ""))
		want := `flunders.wardle.example.com "bad" is forbidden: this name may not be used, please change the resource name`
		if code != http.StatusForbidden || at("reason") != "Forbidden" || at("message") != want {
			t.Errorf("got %d %v %v, want 403 %s", code, at("reason"), at("message"), want)
		}
	}
	s.must("POST", beta+"/namespaces/default/flunders", flunderJSON("good", ""))
	s.must("PATCH", beta+"/namespaces/default/flunders/before", `{"spec":{"flunderReference":"x"}}`, "Content-Type", "application/merge-patch+json")
	s.must("DELETE", alpha+"/fischers/carp", "")
	s.must("POST", beta+"/namespaces/default/flunders", flunderJSON("bad", ""))
}

// TestBanSwitchedOff checks that flags turn the plugin off by its name, like any row of the table
// of admission plugins.
func TestBanSwitchedOff(t *testing.T) {
	cfg := config()
	cfg.Admission.Disable = []string{"BanFlunder"}
	s := &wardleServer{servertest.Start(t, cfg), t}
	s.must("POST", alpha+"/fischers", `{"metadata":{"name":"carp"},"disallowedFlunders":["bad"]}`)
	s.must("POST", beta+"/namespaces/default/flunders", flunderJSON("bad", ""))
}

// TestBanConfigured configures the plugin as docs/extending.md shows. A mistake in the file keeps
// the server from starting.
func TestBanConfigured(t *testing.T) {
	doc, err := os.ReadFile("../../docs/extending.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	cfg := config()
	cfg.Admission.ConfigFile = filepath.Join(t.TempDir(), "admission.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(cfg.Admission.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(text, "disallowedFlunders", "disallowed", 1))
	want := "BanFlunder: " + cfg.Admission.ConfigFile + `: strict decoding error: unknown field "disallowed"`
	if _, err := servertest.New(t, cfg); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	write(text)
	s := &wardleServer{servertest.Start(t, cfg), t}
	if code, at := s.do("POST", beta+"/namespaces/default/flunders", flunderJSON("carp", "")); code != http.StatusForbidden {
		t.Errorf("a name of the configuration: got %d %v, want 403", code, at("message"))
	}
	s.must("POST", beta+"/namespaces/default/flunders", flunderJSON("good", ""))
}

// TestSets checks that the tag list:"set" forbids repeated entries. Kubernetes lets finalizers
// repeat, so they are exempt.
func TestSets(t *testing.T) {
	s := start(t)
	s.must("POST", alpha+"/fischers", `{"metadata":{"name":"carp","finalizers":["a.b/c","a.b/c"]},"disallowedFlunders":["a","b"]}`)
	const want = `Fischer.wardle.example.com "carp" is invalid: disallowedFlunders[2]: Duplicate value: "a"`
	for _, req := range [][]string{
		{"POST", alpha + "/fischers", `{"metadata":{"name":"carp"},"disallowedFlunders":["a","b","a"]}`},
		{"PATCH", alpha + "/fischers/carp", `{"disallowedFlunders":["a","b","a"]}`, "Content-Type", "application/merge-patch+json"},
	} {
		code, at := s.do(req[0], req[1], req[2], req[3:]...)
		if code != http.StatusUnprocessableEntity || at("reason") != "Invalid" || at("message") != want {
			t.Errorf("%s: got %d %v %v, want 422 %s", req[0], code, at("reason"), at("message"), want)
		}
	}
}

func TestStatus(t *testing.T) {
	s := start(t)
	at := s.must("POST", beta+"/namespaces/default/flunders",
		`{"metadata":{"name":"one","generation":7},"spec":{"flunderReference":"x"},"status":{"phase":"Forged"}}`)
	check := func(step string, at func(string) any, reference, phase string, generation float64) {
		t.Helper()
		got, _ := at("status.phase").(string)
		if at("spec.flunderReference") != reference || got != phase || at("metadata.generation") != generation {
			t.Errorf("%s: got %v %v, generation %v", step, at("spec"), at("status"), at("metadata.generation"))
		}
	}
	check("create", at, "x", "", 1)
	const both, merge = `{"spec":{"flunderReference":"y"},"status":{"phase":"Swimming"}}`, "application/merge-patch+json"
	check("status", s.must("PATCH", beta+"/namespaces/default/flunders/one/status", both, "Content-Type", merge), "x", "Swimming", 1)
	check("spec", s.must("PATCH", beta+"/namespaces/default/flunders/one",
		strings.Replace(both, "Swimming", "Forged", 1), "Content-Type", merge), "y", "Swimming", 2)
	at = s.must("GET", alpha+"/namespaces/default/flunders/one/status", "")
	if at("spec.reference") != "y" || at("status.phase") != "Swimming" {
		t.Errorf("status in the other version: got %v %v", at("spec"), at("status"))
	}
}

func TestTable(t *testing.T) {
	s := start(t)
	s.must("POST", alpha+"/namespaces/default/flunders", flunderJSON("one", `"reference":"carp","referenceType":"Fischer"`))
	at := s.must("GET", beta+"/flunders", "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	rows, _ := at("rows").([]any)
	if len(rows) != 1 {
		t.Fatalf("rows: got %v", rows)
	}
	cells := rows[0].(map[string]any)["cells"].([]any)
	if want := []any{"one", "Fischer/carp", ""}; !reflect.DeepEqual(cells[:3], want) {
		t.Errorf("cells: got %v, want %v", cells, want)
	}
}

func TestDiscovery(t *testing.T) {
	s := start(t)
	at := s.must("GET", "/apis/wardle.example.com", "")
	if got := at("preferredVersion.version"); got != "v1beta1" {
		t.Errorf("preferred version: got %v", got)
	}
	if got, _ := at("versions").([]any); len(got) != 2 {
		t.Errorf("versions: got %v", got)
	}
	for path, want := range map[string]string{alpha: "fischers flunders flunders/status", beta: "flunders flunders/status"} {
		var got []string
		list, _ := s.must("GET", path, "")("resources").([]any)
		for _, r := range list {
			got = append(got, r.(map[string]any)["name"].(string))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %s", path, got, want)
		}
	}
	// Schema and description come from the tags and comments of the Go types.
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		resp := s.send("GET", "/openapi/v3/apis/wardle.example.com/"+version, "")
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		for _, want := range []string{`"com.example.wardle.` + version + `.Flunder"`, "Flunder refers to another Flunder or to a Fischer."} {
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("OpenAPI of %s lacks %s (%v)", version, want, err)
			}
		}
	}
}

func TestCensus(t *testing.T) {
	s := start(t)
	for _, namespace := range []string{"a", "b", "a"} {
		s.must("POST", beta+"/namespaces/"+namespace+"/flunders", `{"metadata":{"generateName":"f-"}}`)
	}
	at := s.must("GET", "/wardle/census", "")
	if at("a") != 2.0 || at("b") != 1.0 {
		t.Errorf("census: got a %v, b %v, want 2, 1", at("a"), at("b"))
	}
	if code, at := s.do("POST", "/wardle/census", "{}"); code != http.StatusMethodNotAllowed || at("kind") != "Status" {
		t.Errorf("POST: got %d %v, want a Status with 405", code, at("kind"))
	}
	if code, _ := s.do("GET", "/wardle/census", "", "Authorization", "Bearer wrong"); code != http.StatusUnauthorized {
		t.Errorf("wrong token: got %d, want 401", code)
	}
	resp, err := s.Anonymous().Get(s.URL + "/wardle/census")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	message := decode(t, json.NewDecoder(resp.Body))("message")
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(fmt.Sprint(message), `"system:anonymous" cannot get path`) {
		t.Errorf("anonymous: got %d %v, want 403", resp.StatusCode, message)
	}
}

// TestBesideCore serves Kubernetes' own kinds too. A Flunder can then be created only in a
// namespace that exists.
func TestBesideCore(t *testing.T) {
	cfg := config()
	cfg.API.Core = true
	s := &wardleServer{servertest.Start(t, cfg), t}
	if code, at := s.do("POST", beta+"/namespaces/pond/flunders", flunderJSON("one", "")); code != http.StatusNotFound {
		t.Errorf("in no namespace: got %d %v, want 404", code, at("message"))
	}
	s.must("POST", "/api/v1/namespaces", `{"metadata":{"name":"pond"}}`)
	s.must("POST", beta+"/namespaces/pond/flunders", flunderJSON("one", ""))
}

// TestMissingConversion: server.New reports a conversion that cannot be derived, with both types
// and the field.
func TestMissingConversion(t *testing.T) {
	cfg := config()
	cfg.Storage.Engine, cfg.DataDir = server.StorageMemory, t.TempDir()
	cfg.API.Groups[0].AddToScheme = func(s *scheme.Scheme) {
		s.AddKnownTypes(v1alpha1.GroupVersion, &v1alpha1.Flunder{}, &v1alpha1.Fischer{}) // without conversion functions
		v1beta1.Scheme.AddToScheme(s)
		s.AddHub(meta.GroupKind{Group: groupName, Kind: "Flunder"}, &hub.Flunder{})
	}
	_, err := servertest.New(t, cfg)
	if err == nil {
		t.Fatal("New: got no error")
	}
	for _, want := range []string{
		"conversion of v1alpha1.FlunderSpec to hub.FlunderSpec: field Reference (string) has no counterpart: register a conversion function",
		"field ReferenceType (*v1alpha1.ReferenceType) does not convert to field ReferenceType (hub.ReferenceType)",
		"conversion of hub.FlunderSpec to v1alpha1.FlunderSpec: field FlunderReference (string) has no counterpart",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New: got %v, want also %s", err, want)
		}
	}
}

// TestRoundTrip checks that every value of a version survives the conversion to the hub and back.
func TestRoundTrip(t *testing.T) {
	s := scheme.New()
	wardle().AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	schemetest.RoundTrip(t, s, nil)
}

// TestDeprecated declares the older version deprecated, and checks that its clients are warned and
// counted.
func TestDeprecated(t *testing.T) {
	cfg := config()
	group := &cfg.API.Groups[0]
	group.Resources[0].Deprecated = []registry.Deprecation{{
		Version: "v1alpha1", Since: "1.30", Removed: "1.40", Instead: v1beta1.GroupVersion.WithKind("Flunder"),
	}}
	group.Resources[1].Deprecated = []registry.Deprecation{{Since: "1.36"}}
	s := &wardleServer{servertest.Start(t, cfg), t}
	s.must("POST", beta+"/namespaces/ns/flunders", flunderJSON("a", ``))
	const flunders = `299 - "wardle.example.com/v1alpha1 Flunder is deprecated in v1.30+, unavailable in v1.40+; use wardle.example.com/v1beta1 Flunder"`
	for path, want := range map[string]string{
		beta + "/namespaces/ns/flunders/a":         "",
		beta + "/flunders":                         "",
		alpha + "/namespaces/ns/flunders/a":        flunders,
		alpha + "/namespaces/ns/flunders/none":     flunders,
		alpha + "/flunders":                        flunders,
		alpha + "/namespaces/ns/flunders/a/status": flunders,
		alpha + "/fischers":                        `299 - "wardle.example.com/v1alpha1 Fischer is deprecated in v1.36+"`,
		alpha:                                      "",
	} {
		resp := s.send("GET", path, "")
		resp.Body.Close()
		if got := strings.Join(resp.Header["Warning"], "\n"); got != want {
			t.Errorf("%s: got the warning %s, want %s", path, got, want)
		}
	}
	resp := s.send("GET", "/metrics", "")
	defer resp.Body.Close()
	var got []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "apiserver_requested_deprecated_apis{") {
			got = append(got, line)
		}
	}
	const of = `apiserver_requested_deprecated_apis{group="wardle.example.com",`
	want := []string{
		of + `removed_release="",resource="fischers",subresource="",version="v1alpha1"} 1`,
		of + `removed_release="1.40",resource="flunders",subresource="",version="v1alpha1"} 1`,
		of + `removed_release="1.40",resource="flunders",subresource="status",version="v1alpha1"} 1`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("metrics: got %q, want %q", got, want)
	}
}
