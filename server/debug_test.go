package server_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/inspect"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestLogFiles: the files of the log folder are served, and a server without the folder serves
// none.
func TestLogFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "pods"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pods", "a.log"), []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newInProcess(t, func(c *server.Config) { c.Serving.Debug.LogDir = dir })
	for _, tt := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/logs/", 200, `<a href="pods/">`},
		{"GET", "/logs/pods", 301, ""},
		{"GET", "/logs/pods/", 200, `<a href="a.log">`},
		{"GET", "/logs/pods/a.log", 200, "a line\n"},
		{"GET", "/logs/pods/b.log", 404, ""},
		{"GET", "/logs/" + strings.Repeat("a", 300), 404, ""},
		{"GET", "/logs/../debug_test.go", 404, ""},
		{"POST", "/logs/pods/a.log", 405, ""},
		{"GET", "/", 200, `"/logs/"`},
	} {
		if code, body := p.do(tt.method, tt.path, ""); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s %.40s: got %d %.300s, want %d %s", tt.method, tt.path, code, body, tt.code, tt.body)
		}
	}
	if code, _ := newInProcess(t).do("GET", "/logs/", ""); code != http.StatusNotFound {
		t.Errorf("without a folder: got %d", code)
	}
}

// TestVerbosity changes how much a running server logs. The answers are kube-apiserver's.
func TestVerbosity(t *testing.T) {
	var set []int32
	profiles := inspect.Profiles{Serve: true, SetVerbosity: func(v int32) { set = append(set, v) }}
	p := newInProcess(t, func(c *server.Config) { c.Serving.Debug.Profiles = profiles })
	for _, tt := range []struct {
		method, path, in string
		code             int
		body             string
	}{
		{"PUT", "/debug/flags/v", "5", 200, "successfully set klog.logging.verbosity to 5\n"},
		{"PUT", "/debug/flags/v", "0", 200, "successfully set klog.logging.verbosity to 0\n"},
		{"PUT", "/debug/flags/v", "", 400, "strconv.ParseUint: parsing \"\": invalid syntax\n"},
		{"PUT", "/debug/flags/v", "-1", 400, "strconv.ParseUint: parsing \"-1\": invalid syntax\n"},
		{"PUT", "/debug/flags/v", "2147483648", 400,
			"failed set klog.logging.verbosity 2147483648: strconv.ParseInt: parsing \"2147483648\": value out of range\n"},
		{"PUT", "/debug/flags/v", strings.Repeat("1", 2000), 400, "error reading request body: http: request body too large\n"},
		{"GET", "/debug/flags/v", "", 406, "unsupported http method\n"},
		{"GET", "/debug/flags", "", 200, "<tr>v<br>"},
		{"GET", "/debug/flags/x", "", 200, "<tr>v<br>"},
	} {
		code, body := p.do(tt.method, tt.path, tt.in)
		if code != tt.code || body != tt.body && !(strings.HasPrefix(tt.body, "<") && strings.Contains(body, tt.body)) {
			t.Errorf("%s %s %.20s: got %d %s, want %d %s", tt.method, tt.path, tt.in, code, body, tt.code, tt.body)
		}
	}
	if want := []int32{5, 0}; !slices.Equal(set, want) {
		t.Errorf("set %v, want %v", set, want)
	}
	if strings.Contains(p.must("GET", "/", ""), "/debug/flags") {
		t.Error("the index lists the path")
	}
	profiles.Serve = false
	p = newInProcess(t, func(c *server.Config) { c.Serving.Debug.Profiles = profiles })
	if code, body := p.do("PUT", "/debug/flags/v", "5"); code != http.StatusNotFound {
		t.Errorf("without profiles: got %d %s", code, body)
	}
}

// shownLines returns the lines of /metrics that match a pattern.
func shownLines(t *testing.T, p *inProcess, pattern string) []string {
	t.Helper()
	code, body := p.do("GET", "/metrics", "")
	if code != http.StatusOK {
		t.Fatalf("got %d %.300s", code, body)
	}
	return regexp.MustCompile(`(?m)^`+pattern+`.*$`).FindAllString(body, -1)
}

// TestShownMetrics disables metrics, shows hidden ones, and merges series whose labels are not
// allowed.
func TestShownMetrics(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) {
		c.Serving.Debug.Metrics = inspect.Metrics{
			Disabled: []string{"go_goroutines", "no_such_metric"}, Hidden: true,
			LabelValues: map[string]map[string][]string{
				"apiserver_request_total":                {"resource": {"namespaces", "secrets"}},
				"apiserver_request_sli_duration_seconds": {"resource": {"namespaces", "secrets"}},
				"apiserver_storage_objects":              {"resource": {""}},
			},
		}
	})
	for _, resource := range []string{"secrets", "secrets", "configmaps", "services", "configmaps"} {
		if code, body := p.do("POST", "/api/v1/namespaces/ns/"+resource, `{"metadata":{"generateName":"a"},"spec":{"ports":[{"port":1}]}}`); code != http.StatusCreated {
			t.Fatalf("%d %s", code, body)
		}
	}
	series := func(name, resource string) string {
		return name + `\{[^}]*resource="` + resource + `"[^}]*verb="POST",version="v1"`
	}
	for _, tt := range []struct{ pattern, want string }{
		{"go_goroutines ", ""},
		{series(`apiserver_request_total`, "secrets"), "2"},
		{series(`apiserver_request_total`, "unexpected"), "3"},
		{series(`apiserver_request_total`, "configmaps"), ""},
		{series(`apiserver_request_sli_duration_seconds_count`, "unexpected"), "3"},
		{series(`apiserver_request_sli_duration_seconds_bucket`, "unexpected") + `,le="\+Inf"`, "3"},
		{series(`apiserver_request_slo_duration_seconds_count`, "configmaps"), "2"},
		{series(`apiserver_request_slo_duration_seconds_count`, "services"), "1"},
		{"# HELP apiserver_request_slo_duration_seconds .Deprecated since 1.27.0. ", "seconds."},
	} {
		var got []string
		for _, line := range shownLines(t, p, tt.pattern) {
			words := strings.Fields(line)
			got = append(got, words[len(words)-1])
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.pattern, got, tt.want)
		}
	}
	objects := shownLines(t, p, "apiserver_storage_objects")
	if len(objects) != 1 || !strings.HasPrefix(objects[0], `apiserver_storage_objects{resource="unexpected"} `) {
		t.Errorf("gauges: got %q", objects)
	}
}

// TestVersionMetrics: metrics have the version that /version shows.
func TestVersionMetrics(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { c.API.Version = "v1.36.3-mine" })
	if got := shownLines(t, p, "kubernetes_build_info"); len(got) != 1 || !strings.Contains(got[0], `git_version="v1.36.3-mine"`) || !strings.HasSuffix(got[0], " 1") {
		t.Errorf("got %q", got)
	}
}

// TestHandshakeErrors checks the count of clients that do not speak TLS.
func TestHandshakeErrors(t *testing.T) {
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Engine: server.StorageMemory}})
	conn, err := net.Dial("tcp", s.Server.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the handshake is counted", func() bool {
		_, metrics := do(t, s, "GET", "/metrics", "")
		return strings.Contains(metrics, "\napiserver_tls_handshake_errors_total 1\n")
	})
}
