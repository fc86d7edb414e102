package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/access"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// The tests here have two generations of a program, with different versions of one kind. Servers of
// both generations open the same store one after the other.

const yachtGroup = "yachts.example.com"

var (
	yachtResource = meta.GroupResource{Group: yachtGroup, Resource: "yachts"}

	yachtKind  = meta.GroupKind{Group: yachtGroup, Kind: "Yacht"}
	yachtAlpha = meta.GroupVersion{Group: yachtGroup, Version: "v1alpha1"}
	yachtBeta  = meta.GroupVersion{Group: yachtGroup, Version: "v1beta1"}
	yachtV1    = meta.GroupVersion{Group: yachtGroup, Version: "v1"}
)

// alphaYacht is a yacht in v1alpha1, the only version of the first generation.
type alphaYacht struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Colour          string `json:"colour,omitempty" pb:"2" default:"tarred"`
}

// betaYacht is a yacht in v1beta1. The field colour has become color. It has no sail.
type betaYacht struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Color           string `json:"color,omitempty" pb:"2" default:"white" check:"immutable"`
}

// yacht is a yacht in v1, which is the hub. It has a sail.
type yacht struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Color           string      `json:"color,omitempty" pb:"2" default:"white" check:"immutable"`
	Sail            string      `json:"sail,omitempty" pb:"3" default:"lug"`
	Status          yachtStatus `json:"status,omitempty" pb:"4"`
}

type yachtStatus struct {
	Place string `json:"place,omitempty" pb:"1" default:"harbour"`
}

func convertYachts(s *scheme.Scheme) {
	scheme.AddConversion(s, func(in *alphaYacht, out *yacht) error {
		out.ObjectMeta, out.Color = *scheme.DeepCopy(&in.ObjectMeta), in.Colour
		return nil
	})
	scheme.AddConversion(s, func(in *yacht, out *alphaYacht) error {
		out.ObjectMeta, out.Colour = *scheme.DeepCopy(&in.ObjectMeta), in.Color
		return nil
	})
	scheme.AddConversion(s, func(in *yacht, out *betaYacht) error {
		out.ObjectMeta, out.Color = *scheme.DeepCopy(&in.ObjectMeta), in.Color
		return nil
	})
}

// yachtsThen returns the group of the first generation.
func yachtsThen() server.Group {
	return server.Group{
		Name:        yachtGroup,
		AddToScheme: func(s *scheme.Scheme) { s.AddKnownType(yachtAlpha.WithKind("Yacht"), &alphaYacht{}) },
		Resources: []registry.Resource{registry.Typed(registry.ResourceOf[*alphaYacht]{
			GroupResource: yachtResource, Kind: "Yacht", Namespaced: true,
		})},
	}
}

// yachtsNow returns the group of the second generation: v1beta1 and v1 are served, and v1 is
// stored. v1alpha1 is not served, and is also not readable if dropped. change changes the
// declaration.
func yachtsNow(dropped bool, change ...func(*registry.ResourceOf[*yacht])) server.Group {
	res := registry.ResourceOf[*yacht]{
		GroupResource: yachtResource, Kind: "Yacht", Namespaced: true, Status: &registry.StatusOf[*yacht]{},
		Fields: []registry.FieldValue{{Label: "color", Path: "color"}},
	}
	for _, f := range change {
		f(&res)
	}
	return server.Group{
		Name: yachtGroup,
		AddToScheme: func(s *scheme.Scheme) {
			s.AddKnownType(yachtBeta.WithKind("Yacht"), &betaYacht{})
			s.AddKnownType(yachtV1.WithKind("Yacht"), &yacht{})
			if !dropped {
				s.AddStored(yachtAlpha.WithKind("Yacht"), yachtKind, &alphaYacht{})
			}
			for _, gv := range []meta.GroupVersion{yachtBeta, yachtV1} {
				s.AddFieldLabels(gv.WithKind("Yacht"), func(label, value string) (string, string, error) {
					if label == "color" {
						return label, value, nil
					}
					return scheme.MetadataLabels(label, value)
				})
			}
			convertYachts(s)
		},
		Resources: []registry.Resource{registry.Typed(res)},
	}
}

// askYachts runs ask with a server of one generation, and then closes the server. The store stays
// open.
func askYachts(t *testing.T, store storage.Store, protobuf bool, g server.Group, ask func(p *inProcess)) {
	t.Helper()
	cfg := server.Config{
		API:     server.APIConfig{Groups: []server.Group{g}},
		Storage: server.StorageConfig{Store: store, Protobuf: protobuf},
	}
	askOnce(t, cfg, ask)
}

// askOnce runs ask with a server, and then closes the server. The store stays open.
func askOnce(t *testing.T, cfg server.Config, ask func(p *inProcess)) {
	t.Helper()
	cfg.DataDir = t.TempDir()
	cfg.Storage.Store = sharedStore{cfg.Storage.Store}
	cfg.Serving = server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort}
	cfg.Authorization.Modes = []string{access.AlwaysAllow}
	s, err := servertest.New(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ask(&inProcess{&handled{Server: s, TB: t}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// yacht sends a request for yachts, checks the code, and returns the answer.
func (p *inProcess) yacht(want int, method, version, target, body string, header ...string) map[string]any {
	p.TB.Helper()
	path := "/apis/" + yachtGroup + "/" + version + "/namespaces/ns/yachts" + target
	code, answer := p.do(method, path, body, header...)
	if code != want {
		p.TB.Fatalf("%s %s: got %d %s, want %d", method, path, code, answer, want)
	}
	var obj map[string]any
	if err := json.Unmarshal([]byte(answer), &obj); err != nil {
		p.TB.Fatal(err)
	}
	return obj
}

func storedYacht(t *testing.T, store storage.Store, name string) string {
	t.Helper()
	e, err := store.Get(t.Context(), "/registry/"+yachtGroup+"/yachts/ns/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", e.Value)
}

const mergePatch = "application/merge-patch+json"

// wantYacht compares fields of a yacht. "" stands for a field that is missing.
func wantYacht(t *testing.T, what string, got map[string]any, want ...string) {
	t.Helper()
	for _, field := range want {
		name, value, _ := strings.Cut(field, "=")
		if has, _ := got[name].(string); has != value {
			t.Errorf("%s: got %s %q, want %q: %v", what, name, has, value, got)
		}
	}
}

// TestGrownKind: the second generation reads yachts of the first one with all defaults, in whatever
// encoding they were stored. A write stores them in the new version. If the second generation
// stores v1alpha1, both generations can read the result.
func TestGrownKind(t *testing.T) {
	for _, protobuf := range []bool{false, true} {
		t.Run(fmt.Sprintf("protobuf=%v", protobuf), func(t *testing.T) {
			store := memory.New(memory.Config{})
			defer store.Close()
			askYachts(t, store, protobuf, yachtsThen(), func(p *inProcess) {
				p.yacht(http.StatusCreated, "POST", "v1alpha1", "", `{"metadata":{"name":"red"},"colour":"red"}`)
				p.yacht(http.StatusCreated, "POST", "v1alpha1", "", `{"metadata":{"name":"plain","finalizers":["example.com/a"]}}`)
			})
			askYachts(t, store, protobuf, yachtsNow(false), func(p *inProcess) { usesOldYachts(t, p, store) })
			asAlpha := func(r *registry.ResourceOf[*yacht]) { r.StorageVersion = "v1alpha1" }
			askYachts(t, store, protobuf, yachtsNow(false, asAlpha), func(p *inProcess) {
				p.yacht(http.StatusOK, "PATCH", "v1", "/red", `{"metadata":{"labels":{"x":"z"}}}`, "Content-Type", mergePatch)
				if got := storedYacht(t, store, "red"); !strings.Contains(got, "v1alpha1") || strings.Contains(got, "lug") {
					t.Errorf("red, to be stored as v1alpha1, is stored as %s", got)
				}
				wantYacht(t, "get", p.yacht(http.StatusOK, "GET", "v1", "/red", ""), "color=red", "apiVersion=yachts.example.com/v1")
			})
			askYachts(t, store, protobuf, yachtsThen(), func(p *inProcess) { // the first generation again
				wantYacht(t, "given back", p.yacht(http.StatusOK, "GET", "v1alpha1", "/red", ""), "colour=red", "color=")
			})
		})
	}
}

// usesOldYachts uses a server of the second generation on the objects of the first one.
func usesOldYachts(t *testing.T, p *inProcess, store storage.Store) {
	t.Helper()
	before := storedYacht(t, store, "plain")
	// The default of v1alpha1 was added when the yacht was stored. v1alpha1 has no sail, and the
	// defaults of other versions are not added.
	wantYacht(t, "get", p.yacht(http.StatusOK, "GET", "v1", "/plain", ""), "color=tarred", "sail=", "colour=")
	wantYacht(t, "get v1beta1", p.yacht(http.StatusOK, "GET", "v1beta1", "/red", ""), "color=red", "apiVersion=yachts.example.com/v1beta1")
	if list := p.yacht(http.StatusOK, "GET", "v1", "?fieldSelector=color=tarred", "")["items"].([]any); len(list) != 1 {
		t.Errorf("%d yachts are tarred, want 1: %v", len(list), list)
	}
	p.yacht(http.StatusNotFound, "GET", "v1alpha1", "/plain", "")
	if got := storedYacht(t, store, "plain"); got != before {
		t.Errorf("reading has stored %s", got)
	}
	for _, name := range []string{"red", "plain"} {
		got := p.yacht(http.StatusOK, "PATCH", "v1beta1", "/"+name, `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", mergePatch)
		wantYacht(t, "patched", got, "apiVersion=yachts.example.com/v1beta1")
		p.yacht(http.StatusUnprocessableEntity, "PATCH", "v1", "/"+name, `{"color":"blue"}`, "Content-Type", mergePatch)
		if got := storedYacht(t, store, name); strings.Contains(got, "v1alpha1\"") || !strings.Contains(got, "lug") {
			t.Errorf("%s, written, is stored as %s, want a whole v1", name, got)
		}
	}
	p.yacht(http.StatusOK, "DELETE", "v1", "/plain", "")
	p.yacht(http.StatusOK, "PATCH", "v1", "/plain", `{"metadata":{"finalizers":null}}`, "Content-Type", mergePatch)
	p.yacht(http.StatusNotFound, "GET", "v1", "/plain", "")
}

// TestWrittenWhole: if the version of a write lacks a field, or a strategy resets a field, the
// stored object gets the default of the storage version. It looks the same before and after a
// restart.
func TestWrittenWhole(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	whole := []string{"color=white", "sail=lug"}
	askYachts(t, store, false, yachtsNow(false), func(p *inProcess) {
		p.yacht(http.StatusCreated, "POST", "v1beta1", "", `{"metadata":{"name":"a"}}`)
		created := p.yacht(http.StatusCreated, "POST", "v1", "", `{"metadata":{"name":"b"},"status":{"place":"sea"}}`)
		if place := created["status"].(map[string]any)["place"]; place != "harbour" {
			t.Errorf("created: got the place %v, want the default, because a status is not for creations", place)
		}
		wantYacht(t, "before a restart", p.yacht(http.StatusOK, "GET", "v1", "/a", ""), whole...)
	})
	written := storedYacht(t, store, "a")
	askYachts(t, store, false, yachtsNow(false), func(p *inProcess) {
		wantYacht(t, "after a restart", p.yacht(http.StatusOK, "GET", "v1", "/a", ""), whole...)
		p.yacht(http.StatusOK, "PATCH", "v1", "/a", `{}`, "Content-Type", mergePatch)
	})
	if got := storedYacht(t, store, "a"); got != written {
		t.Errorf("a patch that changes nothing stored %s, want %s", got, written)
	}
}

// TestDroppedVersion: an object in a version that the program does not know is unreadable. The
// error names the version. Other objects can be read.
func TestDroppedVersion(t *testing.T) {
	store := memory.New(memory.Config{})
	defer store.Close()
	askYachts(t, store, false, yachtsThen(), func(p *inProcess) {
		p.yacht(http.StatusCreated, "POST", "v1alpha1", "", `{"metadata":{"name":"old"}}`)
	})
	askYachts(t, store, false, yachtsNow(true), func(p *inProcess) {
		p.yacht(http.StatusCreated, "POST", "v1", "", `{"metadata":{"name":"new"}}`)
		p.yacht(http.StatusOK, "GET", "v1", "/new", "")
		message, _ := p.yacht(http.StatusInternalServerError, "GET", "v1", "/old", "")["message"].(string)
		if !strings.Contains(message, `stored in version "yachts.example.com/v1alpha1", which is not known`) {
			t.Errorf("got %q, want an error that names the version", message)
		}
	})
}
