package main

import (
	"archive/zip"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// folder is the data folder that two earlier wardles have written; its README.md says how.
const folder = "testdata/earlier"

// openEarlier starts a server on a copy of the folder.
func openEarlier(t *testing.T, engine string) (*wardleServer, string) {
	t.Helper()
	cfg := config()
	cfg.Storage.Engine, cfg.DataDir = engine, t.TempDir()
	switch engine {
	case server.StorageFile:
		if err := os.CopyFS(cfg.DataDir, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	case server.StorageEmbedded:
		unpack(t, filepath.Join(folder, "etcd.zip"), cfg.DataDir)
	}
	return &wardleServer{servertest.Start(t, cfg), t}, cfg.DataDir
}

func unpack(t *testing.T, file, dir string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	// The files of a store are private, but CopyFS creates files that every user may read.
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEarlierFolder opens what earlier wardles have stored. The first knew v1alpha1 alone and
// stored it; the second stored v1beta1, in which the field reference has other names. Neither knew
// priority, which has a default and cannot be changed.
func TestEarlierFolder(t *testing.T) {
	for _, engine := range []string{server.StorageEmbedded, server.StorageFile} {
		t.Run(engine, func(t *testing.T) {
			s, dir := openEarlier(t, engine)
			seesWhole(t, s)
			changes(t, s)
			if engine == server.StorageFile {
				storesWhole(t, filepath.Join(dir, "objects/registry/wardle.example.com/flunders/pond"))
			}
		})
	}
}

const pond = beta + "/namespaces/pond/flunders"

// seesWhole reads the objects by get and list, in both versions, and checks that each has the
// fields and defaults of today.
func seesWhole(t *testing.T, s *wardleServer) {
	t.Helper()
	for name, want := range map[string]map[string]any{
		"one":   {"flunderReference": "two", "referenceType": "Flunder", "priority": "low"},
		"two":   {"fischerReference": "f", "referenceType": "Fischer", "priority": "low"},
		"three": {"fischerReference": "f", "referenceType": "Fischer", "priority": "low"},
		"four":  {"priority": "low"},
	} {
		sameSpec(t, "get "+name, s.must("GET", pond+"/"+name, "")("spec"), want)
		for _, item := range s.must("GET", pond+"?fieldSelector=metadata.name="+name, "")("items").([]any) {
			sameSpec(t, "list "+name, item.(map[string]any)["spec"], want)
		}
	}
	sameSpec(t, "v1alpha1", s.must("GET", alpha+"/namespaces/pond/flunders/two", "")("spec"),
		map[string]any{"reference": "f", "referenceType": "Fischer", "priority": "low"})
	if names := s.must("GET", alpha+"/fischers/f", "")("disallowedFlunders"); len(names.([]any)) != 1 {
		t.Errorf("the Fischer disallows %v, want one name", names)
	}
}

func sameSpec(t *testing.T, what string, got any, want map[string]any) {
	t.Helper()
	spec, _ := got.(map[string]any)
	if len(spec) != len(want) {
		t.Errorf("%s: got the spec %v, want %v", what, spec, want)
		return
	}
	for k, v := range want {
		if spec[k] != v {
			t.Errorf("%s: got the spec %v, want %v", what, spec, want)
			return
		}
	}
}

// changes updates the objects. A default that an update adds does not count as a change of a field
// that cannot be changed.
func changes(t *testing.T, s *wardleServer) {
	t.Helper()
	const merge = "application/merge-patch+json"
	for name, where := range map[string]string{"one": beta, "two": beta, "three": alpha, "four": beta} {
		path := where + "/namespaces/pond/flunders/" + name
		s.must("PATCH", path, `{"metadata":{"labels":{"seen":"yes"}}}`, "Content-Type", merge)
		code, at := s.do("PATCH", path, `{"spec":{"priority":"high"}}`, "Content-Type", merge)
		if code != http.StatusUnprocessableEntity {
			t.Errorf("%s: a change of the priority: got %d %v, want 422", name, code, at("message"))
		}
	}
	s.must("DELETE", pond+"/two", "")
	s.must("PATCH", pond+"/two", `{"metadata":{"finalizers":null}}`, "Content-Type", merge)
	if code, _ := s.do("GET", pond+"/two", ""); code != http.StatusNotFound {
		t.Errorf("two: got %d after its last finalizer, want 404", code)
	}
}

// storesWhole checks in the files that a write has stored all of an object, in the current storage
// version.
func storesWhole(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"one", "three", "four"} {
		text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"\napiVersion: wardle.example.com/v1beta1\n", "\n  priority: low\n"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s.yaml lacks %q:\n%s", name, want, text)
			}
		}
	}
}
