package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

func TestPages(t *testing.T) {
	flags := map[string]string{"v": "2", "secure-port": "6443"}
	p := newInProcess(t, func(cfg *server.Config) { cfg.Serving.Debug.Flags = func() map[string]string { return flags } })
	get := func(path, accept string) (int, string, http.Header) {
		w := p.serve(p.request("GET", path, http.NoBody, "Accept", accept))
		return w.Code, w.Body.String(), w.Header()
	}
	for path, want := range map[string]string{
		"/flagz": `^\napiserver flagz\nWarning: .*\nsecure-port=6443\nv=2\n$`,
		"/statusz": `^\napiserver statusz\nWarning: .*\n\nStarted: .* 20\d\d\nUp: 0 hr 0\d min \d\d sec\nGo version: go\S+\nBinary version: 1\.36\n` +
			`Emulation version: 1\.36\nPaths: /flagz /healthz /livez /metrics /readyz /statusz /version\n$`,
	} {
		for _, accept := range []string{"", "*/*", "text/html, */*;q=0.8"} {
			code, body, h := get(path, accept)
			if code != 200 || h.Get("Content-Type") != "text/plain; charset=utf-8" || !regexp.MustCompile(want).MatchString(body) {
				t.Errorf("GET %s, Accept %q: got %d %v %q", path, accept, code, h, body)
			}
		}
	}
	object := func(kind, version, typ string) string { return typ + ";g=config.k8s.io;v=" + version + ";as=" + kind }
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		code, body, h := get("/flagz", object("Flagz", version, "application/json"))
		const want = `{"kind":"Flagz","apiVersion":"config.k8s.io/VERSION","metadata":{"name":"apiserver"},"flags":{"secure-port":"6443","v":"2"}}` + "\n"
		warned := h.Get("Warning") == `299 - "This version of the flagz endpoint is deprecated. Please use a newer version."`
		if code != 200 || body != strings.Replace(want, "VERSION", version, 1) || h.Get("Content-Type") != object("Flagz", version, "application/json") ||
			warned != (version == "v1alpha1") {
			t.Errorf("%s: got %d %v %s", version, code, h, body)
		}
	}
	if _, body, _ := get("/flagz", object("Flagz", "v1beta1", "application/yaml")); body !=
		"apiVersion: config.k8s.io/v1beta1\nflags:\n  secure-port: \"6443\"\n  v: \"2\"\nkind: Flagz\nmetadata:\n  name: apiserver\n" {
		t.Errorf("YAML: got %s", body)
	}
	_, body, _ := get("/statusz", object("Statusz", "v1beta1", "application/json"))
	var status struct {
		Kind, APIVersion, StartTime, BinaryVersion, EmulationVersion, GoVersion string
		Paths                                                                   []string
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil || status.Kind != "Statusz" || status.APIVersion != "config.k8s.io/v1beta1" ||
		!strings.HasSuffix(status.StartTime, "Z") || status.BinaryVersion != "1.36" || status.EmulationVersion != "1.36" || status.GoVersion == "" ||
		len(status.Paths) != 7 {
		t.Errorf("got %s, %v", body, err)
	}
	for _, accept := range []string{"application/json", "text/html", object("Statusz", "v1", "application/json")} {
		if code, body, _ := get("/statusz", accept); code != 406 || !strings.Contains(body, "only the following media types are accepted: application/json, application/yaml, text/plain") {
			t.Errorf("Accept %q: got %d %s", accept, code, body)
		}
	}
}

func TestWithoutPages(t *testing.T) {
	p := newInProcess(t, func(cfg *server.Config) { cfg.Serving.Debug.NoStatus = true })
	for _, path := range []string{"/statusz", "/flagz"} {
		if code, body := p.do("GET", path, ""); code != 404 {
			t.Errorf("GET %s: got %d %s, want 404", path, code, body)
		}
	}
}
