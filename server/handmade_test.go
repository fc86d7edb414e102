package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
)

// folder is a server with a data folder in which the test writes files by hand.
type folder struct {
	*inProcess
	t    *testing.T
	dir  string // DataDir
	logs *observer.ObservedLogs
}

func newFolder(t *testing.T) *folder {
	f := &folder{t: t, dir: t.TempDir()}
	f.save("namespaces/ns", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ns\n")
	return f
}

func (f *folder) start(change ...func(*server.Config)) {
	f.t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	cfg := server.Config{DataDir: f.dir, Storage: server.StorageConfig{Engine: server.StorageFile},
		Serving:       server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
		Authorization: access.Config{Modes: []string{access.AlwaysAllow}}, Log: zap.New(core)}
	for _, c := range change {
		c(&cfg)
	}
	s, err := servertest.New(f.t, cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Close() })
	f.inProcess, f.logs = &inProcess{&handled{Server: s, TB: f.t}}, logs
}

func (f *folder) path(key string) string {
	return filepath.Join(f.dir, "objects/registry", key+".yaml")
}

// save replaces the file of a key.
func (f *folder) save(key, content string) {
	f.t.Helper()
	path := f.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.t.Fatal(err)
	}
}

// await repeats a GET until ok accepts the answer, because the server needs time to notice changes
// of files.
func (f *folder) await(what, target string, ok func(code int, body string) bool) {
	f.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		code, body := f.do("GET", target, "")
		if ok(code, body) {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("waiting for %s: got %d %s", what, code, body)
		}
	}
}

func (f *folder) configMap(name string) *corev1.ConfigMap {
	f.t.Helper()
	code, body := f.do("GET", nsMaps+"/"+name, "")
	m := &corev1.ConfigMap{}
	if err := json.Unmarshal([]byte(body), m); err != nil || code != http.StatusOK {
		f.t.Fatalf("%s: got %d %s, %v", name, code, body, err)
	}
	return m
}

// rows returns the names of the config maps in the table of kubectl get.
func (f *folder) rows() string {
	f.t.Helper()
	code, body := f.do("GET", nsMaps, "", "Accept", asTable)
	var table struct{ Rows []struct{ Cells []any } }
	if err := json.Unmarshal([]byte(body), &table); err != nil || code != http.StatusOK {
		f.t.Fatalf("the table: got %d %s, %v", code, body, err)
	}
	var names []string
	for _, r := range table.Rows {
		names = append(names, fmt.Sprint(r.Cells[0]))
	}
	return strings.Join(names, " ")
}

// said returns the lines of the log about the file of a key.
func (f *folder) said(key string) (lines []string) {
	for _, e := range f.logs.FilterField(zap.String("path", f.path(key))).All() {
		lines = append(lines, fmt.Sprint(e.Level, " ", e.ContextMap()["error"]))
	}
	return lines
}

func (f *folder) refused(n int) func(int, string) bool {
	return func(_ int, body string) bool {
		return strings.Contains(body, fmt.Sprintf("\ncoracle_storage_unreadable_files %d\n", n))
	}
}

const mapFile = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  k: %s\n"

// TestWrongFiles: a file with a wrong type, a wrong kind or a wrong folder is treated as a file
// that is no YAML: the log names it once, it is counted, and no request fails because of it. That
// holds at the start and later. A corrected file is accepted.
func TestWrongFiles(t *testing.T) {
	wrong := map[string]struct{ content, cause string }{
		"yaml":      {"a: [", "did not find expected node content"},
		"scalar":    {"just text\n", "encoded object is malformed"},
		"type":      {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: type\ndata: 5\n", "cannot unmarshal number into Go struct field ConfigMap.data"},
		"kind":      {"apiVersion: v1\nkind: Secret\nmetadata:\n  name: kind\n", `the kind "Secret"`},
		"version":   {"apiVersion: v2\nkind: ConfigMap\nmetadata:\n  name: version\n", `version "v2"`},
		"name":      {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n", `metadata.name is "other", but the key has "name"`},
		"nameless":  {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {a: b}\n", `metadata.name is "", but the key has "nameless"`},
		"namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: namespace\n  namespace: else\n", `metadata.namespace is "else", but the key has "ns"`},
		"deep/er":   {fmt.Sprintf(mapFile, "er", "v"), "not the key of an object of configmaps"},
	}
	for _, when := range []string{"at the start", "later"} {
		t.Run(when, func(t *testing.T) {
			f := newFolder(t)
			f.save("configmaps/ns/good", fmt.Sprintf(mapFile, "good", "v"))
			f.save("configmaps/kept", fmt.Sprintf(mapFile, "kept", "v")) // the folder is no namespace
			put := func() {
				for name, w := range wrong {
					f.save("configmaps/ns/"+name, w.content)
				}
			}
			if when == "at the start" {
				put()
			}
			f.start()
			if when == "later" {
				put()
			}
			f.await("the refusals", "/metrics", f.refused(len(wrong)+1))
			if got := f.rows(); got != "good" {
				t.Errorf("the table shows %q, want the good one", got)
			}
			for name, w := range wrong {
				if code, body := f.do("GET", nsMaps+"/"+name, ""); code != http.StatusNotFound {
					t.Errorf("%s: got %d %s, want that it is not there", name, code, body)
				}
				if got := f.said("configmaps/ns/" + name); len(got) != 1 || !strings.HasPrefix(got[0], "warn ") || !strings.Contains(got[0], w.cause) {
					t.Errorf("the log says of %s: %q, want once %q", name, got, w.cause)
				}
			}
			f.save("configmaps/ns/type", fmt.Sprintf(mapFile, "type", "v"))
			f.await("the mended file", "/metrics", f.refused(len(wrong)))
			if got := f.rows(); got != "good type" {
				t.Errorf("the table shows %q, want the mended one, too", got)
			}
			if got := f.said("configmaps/ns/type"); len(got) != 2 || !strings.HasPrefix(got[1], "info ") {
				t.Errorf("the log says %q, want that the file is valid", got)
			}
			f.save("configmaps/ns/type", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: type\ndata:\n  k: []\n")
			f.await("the broken file", "/metrics", f.refused(len(wrong)+1))
			if m := f.configMap("type"); m.Data["k"] != "v" {
				t.Errorf("got %v, want the last good state", m.Data)
			}
			if code, body := f.do("PATCH", nsMaps+"/type", `{"data":{"k":"w"}}`); code != http.StatusServiceUnavailable {
				t.Errorf("a patch: got %d %s, want that it cannot be written", code, body)
			}
		})
	}
}

// TestHandmadeIdentity: an object whose file lacks the UID, the creation time and the namespace
// gets them. They stay the same after edits, restarts and updates. The server does not change the
// file. Another file with the same name gets another UID.
func TestHandmadeIdentity(t *testing.T) {
	f := newFolder(t)
	content := "# mine\n" + fmt.Sprintf(mapFile, "m", "v")
	f.save("configmaps/ns/m", content)
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(f.path("configmaps/ns/m"), long, long); err != nil {
		t.Fatal(err)
	}
	f.start()
	first := f.configMap("m")
	if len(first.UID) != 36 || !first.CreationTimestamp.Time.Equal(long) || first.Namespace != "ns" || first.Data["k"] != "v" {
		t.Fatalf("got %+v, want a uid, the file's time and the namespace", first)
	}
	same := func(what, value string) {
		t.Helper()
		m := f.configMap("m")
		if m.UID != first.UID || !m.CreationTimestamp.Equal(first.CreationTimestamp) || m.Data["k"] != value {
			t.Errorf("%s: got %+v, want the identity of %+v", what, m, first)
		}
	}
	restart := func() {
		t.Helper()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f.start()
	}
	restart()
	same("a restart", "v")
	if m := f.configMap("m"); m.ResourceVersion != first.ResourceVersion {
		t.Errorf("a restart: got revision %s, want %s", m.ResourceVersion, first.ResourceVersion)
	}
	if got, err := os.ReadFile(f.path("configmaps/ns/m")); err != nil || string(got) != content {
		t.Errorf("the file has %q, %v, want it left alone", got, err)
	}
	f.save("configmaps/ns/m", fmt.Sprintf(mapFile, "m", "edited"))
	f.await("the edit", nsMaps+"/m", func(_ int, body string) bool { return strings.Contains(body, "edited") })
	same("an edit", "edited")
	if code, body := f.do("PATCH", nsMaps+"/m", `{"data":{"k":"patched"}}`); code != http.StatusOK {
		t.Fatal(code, body)
	}
	if got, err := os.ReadFile(f.path("configmaps/ns/m")); err != nil || !strings.Contains(string(got), string(first.UID)) {
		t.Errorf("written by the server the file has %q, %v", got, err)
	}
	f.save("configmaps/ns/m", fmt.Sprintf(mapFile, "m", "replaced"))
	f.await("the file without an identity", nsMaps+"/m", func(_ int, body string) bool { return strings.Contains(body, "replaced") })
	same("a replaced file", "replaced")
	restart()
	same("another restart", "replaced")

	if err := os.Remove(f.path("configmaps/ns/m")); err != nil {
		t.Fatal(err)
	}
	f.await("the removal", nsMaps+"/m", func(code int, _ string) bool { return code == http.StatusNotFound })
	f.save("configmaps/ns/m", fmt.Sprintf(mapFile, "m", "new"))
	f.await("the new file", nsMaps+"/m", func(code int, _ string) bool { return code == http.StatusOK })
	if m := f.configMap("m"); m.UID == first.UID || m.UID == "" || m.CreationTimestamp.Equal(first.CreationTimestamp) {
		t.Errorf("a new file: got %s of %v, want an identity of its own", m.UID, m.CreationTimestamp)
	}
}

// TestReplacedManifest: if a person replaces a file of the server by a manifest, the object changes
// but keeps its UID.
func TestReplacedManifest(t *testing.T) {
	f := newFolder(t)
	f.start()
	if code, body := f.do("POST", nsMaps, `{"metadata":{"name":"m"},"data":{"k":"v"}}`); code != http.StatusCreated {
		t.Fatal(code, body)
	}
	before := f.configMap("m")
	f.save("configmaps/ns/m", fmt.Sprintf(mapFile, "m", "manifest"))
	for _, when := range []string{"at once", "after a restart"} {
		f.await("the manifest", nsMaps+"/m", func(_ int, body string) bool { return strings.Contains(body, "manifest") })
		if m := f.configMap("m"); m.UID != before.UID || !m.CreationTimestamp.Equal(before.CreationTimestamp) {
			t.Errorf("%s: got %s of %v, want %s of %v", when, m.UID, m.CreationTimestamp, before.UID, before.CreationTimestamp)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f.start()
	}
}
