package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// described has the parts of an OpenAPI document that the test reads.
type described struct {
	Paths      map[string]struct{ ServerRelativeURL string }
	Components struct {
		Schemas map[string]describedModel
	}
}

type describedModel struct {
	Description string
	Properties  map[string]struct{ Description string }
}

// TestEverythingIsDescribed: each model and each field of all groups has a description, which
// kubectl explain shows.
func TestEverythingIsDescribed(t *testing.T) {
	p := newInProcess(t)
	read := func(path string) (d described) {
		if _, body := p.do("GET", path, ""); json.Unmarshal([]byte(body), &d) != nil {
			t.Fatalf("%s: %.200s", path, body)
		}
		return d
	}
	models := map[string]describedModel{}
	for _, doc := range read("/openapi/v3").Paths {
		for name, model := range read(doc.ServerRelativeURL).Components.Schemas {
			models[name] = model
		}
	}
	var fields int
	var lacking []string
	check := func(name, description string) {
		if description == "" {
			lacking = append(lacking, name)
		}
	}
	for name, model := range models {
		check(name, model.Description)
		for field, property := range model.Properties {
			check(name+"."+field, property.Description)
			fields++
		}
	}
	slices.Sort(lacking)
	if len(lacking) > 0 {
		t.Errorf("%d without a description:\n%s", len(lacking), strings.Join(lacking, "\n"))
	}
	if len(models) < 500 || fields < 2000 {
		t.Errorf("got %d models with %d fields, want all of the groups", len(models), fields)
	}
}

// TestKindsOfOptions checks the kinds of the models that every group version shares: in OpenAPI v2
// a model lists all kinds of Kubernetes, in an OpenAPI v3 document only those of its group version
// and of v1.
func TestKindsOfOptions(t *testing.T) {
	p := newInProcess(t)
	type model struct {
		Kinds []meta.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
	}
	kinds := func(models map[string]model, name string) string {
		var list []string
		for _, k := range models[name].Kinds {
			list = append(list, k.GroupVersion().String())
		}
		return strings.Join(list, " ")
	}
	var v2 struct{ Definitions map[string]model }
	_, body := p.do("GET", "/openapi/v2", "")
	if err := json.Unmarshal([]byte(body), &v2); err != nil {
		t.Fatal(err)
	}
	const options, event = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent"
	for _, name := range []string{options, event} {
		if got := kinds(v2.Definitions, name); len(v2.Definitions[name].Kinds) != 60 || !strings.Contains(got, " extensions/v1beta1 ") {
			t.Errorf("version 2: %s: got %s, want the 60 of Kubernetes", name, got)
		}
	}
	if got := kinds(v2.Definitions, "io.k8s.api.policy.v1.Eviction"); got != "policy/v1" {
		t.Errorf("version 2: Eviction: got %s, want policy/v1", got)
	}
	for path, want := range map[string]string{"api/v1": "v1", "apis/apps/v1": "v1 apps/v1", "apis/autoscaling/v2": "v1 autoscaling/v2"} {
		var v3 struct {
			Components struct{ Schemas map[string]model }
		}
		_, body := p.do("GET", "/openapi/v3/"+path, "")
		if err := json.Unmarshal([]byte(body), &v3); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{options, event} {
			if got := kinds(v3.Components.Schemas, name); got != want {
				t.Errorf("version 3 of %s: %s: got %s, want %s", path, name, got, want)
			}
		}
	}
}
