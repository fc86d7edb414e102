package differential

import (
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestEveryKindIsCompared fails if a resource that clients can update has no row, or if a door that
// takes updates is missing in the row.
func TestEveryKindIsCompared(t *testing.T) {
	judged := map[schema.GroupVersion][]string{}
	for _, row := range rows {
		doors, err := row.REST(newShelf())
		if err != nil {
			t.Fatal(err)
		}
		gv := row.Kind.GroupVersion()
		for door := range doors {
			judged[gv] = append(judged[gv], row.path(door))
		}
	}
	served := newOurs(t)
	for _, gv := range groupVersions(t, served) {
		a := ask(served, http.MethodGet, root(gv)+"/"+gv.String(), nil)
		resources, _ := a.Body["resources"].([]any)
		if len(resources) == 0 {
			t.Errorf("%s: no resources: %s", gv, indent(a.Body))
		}
		for _, r := range resources {
			r := r.(map[string]any)
			verbs, _ := r["verbs"].([]any)
			if name := r["name"].(string); slices.Contains(verbs, any("update")) && !slices.Contains(judged[gv], name) {
				t.Errorf("%s of %s has no row or no door", name, gv)
			}
		}
	}
}

// groupVersions are all served group versions.
func groupVersions(t *testing.T, served *ours) []schema.GroupVersion {
	t.Helper()
	list := []schema.GroupVersion{{Version: "v1"}}
	groups, _ := ask(served, http.MethodGet, "/apis", nil).Body["groups"].([]any)
	for _, g := range groups {
		versions, _ := g.(map[string]any)["versions"].([]any)
		for _, v := range versions {
			gv, err := schema.ParseGroupVersion(v.(map[string]any)["groupVersion"].(string))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, gv)
		}
	}
	return list
}
