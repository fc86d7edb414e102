package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// TestDefinitions serves the resources of wardle on another server, as custom resources. That
// server validates objects by the rules that the tags of the Go types express.
func TestDefinitions(t *testing.T) {
	manifests := t.TempDir()
	file, err := os.Create(filepath.Join(manifests, "wardle.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := writeDefinitions(file); err != nil {
		t.Fatal(err)
	}
	s := &wardleServer{servertest.Start(t, server.Config{API: server.APIConfig{Manifests: manifests}}), t}
	const flunders = beta + "/namespaces/default/flunders"
	for spec, want := range map[string]int{
		`"flunderReference":"x","referenceType":"Flunder"`: http.StatusCreated,
		`"referenceType":"Whale"`:                          http.StatusUnprocessableEntity,
		`"flunderReference":3`:                             http.StatusUnprocessableEntity,
		``:                                                 http.StatusCreated,
	} {
		if code, at := s.do("POST", flunders, `{"apiVersion":"wardle.example.com/v1beta1","kind":"Flunder","metadata":{"generateName":"f-"},"spec":{`+spec+`}}`); code != want {
			t.Errorf("%s: got %d %v, want %d", spec, code, at("message"), want)
		}
	}
	s.must("POST", flunders, `{"apiVersion":"wardle.example.com/v1beta1","kind":"Flunder","metadata":{"name":"one"}}`)
	at := s.must("PATCH", flunders+"/one/status", `{"status":{"phase":"new"},"spec":{"flunderReference":"x"}}`, "Content-Type", "application/merge-patch+json")
	if at("status.phase") != "new" || at("spec.flunderReference") != nil {
		t.Errorf("status: got %v and the spec %v, want the status alone", at("status.phase"), at("spec"))
	}
	s.must("POST", alpha+"/fischers", `{"apiVersion":"wardle.example.com/v1alpha1","kind":"Fischer","metadata":{"name":"f"},"disallowedFlunders":["a","b"]}`)
	if code, at := s.do("POST", alpha+"/fischers", `{"apiVersion":"wardle.example.com/v1alpha1","kind":"Fischer","metadata":{"name":"g"},"disallowedFlunders":["a","a"]}`); code != http.StatusUnprocessableEntity {
		t.Errorf("a set with an element twice: got %d %v", code, at("message"))
	}
}
