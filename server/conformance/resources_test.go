package conformance

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// resourceFacts are the recorded facts about a resource of Kubernetes.
type resourceFacts struct {
	Discovery map[string]any   `json:"discovery"` // its entry in the APIResourceList
	Columns   []map[string]any `json:"columns"`   // of its Table, without descriptions
	Fields    []string         `json:"fields"`    // that a field selector may name
}

// storedInBeta are the resources that Kubernetes stores in a beta version, so that earlier releases
// can read them. Coracle stores them in another version, so the storageVersionHash differs.
var storedInBeta = map[string]bool{
	"admissionregistration.k8s.io/v1 mutatingadmissionpolicies":       true,
	"admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings": true,
	"apiextensions.k8s.io/v1 customresourcedefinitions":               true,
}

// TestResources compares every resource that discovery lists with the recorded facts.
func TestResources(t *testing.T) {
	p := newPlayer(t, start(t, engines[0].config(t)))
	var facts struct {
		Candidates []string                 `json:"candidates"` // all fields that the recorder has tried in selectors
		Syntax     map[string]string        `json:"syntax"`     // field selectors, and why they are refused
		Resources  map[string]resourceFacts `json:"resources"`  // by "group/version plural"
	}
	readJSON(t, filepath.Join("testdata", "resources.json"), &facts)
	served := servedResources(t, p)
	for _, key := range keys(served) {
		t.Run(strings.ReplaceAll(key, " ", "/"), func(t *testing.T) {
			want, ok := facts.Resources[key]
			if !ok {
				t.Fatal("Kubernetes has no such resource")
			}
			if storedInBeta[key] {
				delete(want.Discovery, "storageVersionHash")
				delete(served[key].(map[string]any), "storageVersionHash")
			}
			var d differ
			d.values("discovery", want.Discovery, served[key])
			if want.Columns != nil {
				d.values("columns", list(want.Columns), list(columnsOf(t, p, key)))
			}
			for _, f := range d.found {
				t.Error(f)
			}
			if want.Fields != nil {
				checkFields(t, p, key, want.Fields, facts.Candidates)
			}
		})
	}
	for _, selector := range keys(facts.Syntax) {
		code, body := p.get(t, "/api/v1/services?fieldSelector="+url.QueryEscape(selector), "")
		if got := textAt(body, "message"); got != facts.Syntax[selector] || (got == "") != (code == 200) {
			t.Errorf("field selector %q: got %d %q, want %q", selector, code, got, facts.Syntax[selector])
		}
	}
}

func list(maps []map[string]any) []any {
	out := make([]any, len(maps))
	for i := range maps {
		out[i] = maps[i]
	}
	return out
}

// get sends a GET and returns the status and the body.
func (p *player) get(t *testing.T, path, accept string) (int, any) {
	t.Helper()
	s := &step{Path: path, Headers: map[string]string{}}
	if accept != "" {
		s.Headers["Accept"] = accept
	}
	r, err := p.send(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := r.json()
	return r.status, body
}

// servedResources reads discovery, and returns its entries by "group/version plural".
func servedResources(t *testing.T, p *player) map[string]any {
	t.Helper()
	versions := []string{"v1"}
	_, body := p.get(t, "/apis", "")
	groups, _ := at(body, "/groups")
	for _, g := range groups.([]any) {
		list, _ := at(g, "/versions")
		for _, v := range list.([]any) {
			versions = append(versions, textAt(v, "groupVersion"))
		}
	}
	served := map[string]any{}
	for _, gv := range versions {
		_, body := p.get(t, root(gv), "")
		resources, ok := at(body, "/resources")
		if !ok {
			t.Fatalf("%s has no resources", gv)
		}
		for _, r := range resources.([]any) {
			served[gv+" "+textAt(r, "name")] = r
		}
	}
	return served
}

// root returns the path of a group version.
func root(gv string) string {
	if strings.Contains(gv, "/") {
		return "/apis/" + gv
	}
	return "/api/" + gv
}

// collection returns the path of all objects of a resource.
func collection(key string) string {
	gv, plural, _ := strings.Cut(key, " ")
	return root(gv) + "/" + plural
}

func columnsOf(t *testing.T, p *player, key string) []map[string]any {
	t.Helper()
	_, body := p.get(t, collection(key), "application/json;as=Table;g=meta.k8s.io;v=v1")
	columns, ok := at(body, "/columnDefinitions")
	if !ok {
		t.Fatalf("no Table: %s", short(compact(body)))
	}
	var out []map[string]any
	for _, c := range columns.([]any) {
		column := c.(map[string]any)
		delete(column, "description")
		out = append(out, column)
	}
	return out
}

// checkFields sends a list request with each candidate as its field selector.
func checkFields(t *testing.T, p *player, key string, accepted, candidates []string) {
	t.Helper()
	for _, f := range candidates {
		code, body := p.get(t, collection(key)+"?fieldSelector="+url.QueryEscape(f+"=x"), "")
		want := ""
		switch {
		case slices.Contains(accepted, f):
		case len(accepted) == 2 && accepted[1] == "metadata.namespace":
			want = fmt.Sprintf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, f)
		case key == "batch/v1 jobs":
			want = fmt.Sprintf("field label %q not supported for Job", f)
		case key == "resource.k8s.io/v1 resourceslices":
			want = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: " + f
		default:
			want = "field label not supported: " + f
		}
		if got := textAt(body, "message"); got != want || (want == "") != (code == 200) {
			t.Errorf("field selector %s: got %d %q, want %q", f, code, got, want)
		}
	}
}
