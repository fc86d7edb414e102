package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// described is what the test reads of a document of OpenAPI.
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

// TestEverythingIsDescribed: kubectl explain has something to say of each model and each field of all groups.
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
