package aggregator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/apidiscoveryv2"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// boats has the answers of a server behind: aggregated discovery, and the index of OpenAPI v3.
var boats = []string{`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
	{"metadata":{"name":"boats.example.com"},"versions":[
		{"version":"v1","freshness":"Current","resources":[{"resource":"boats","scope":"Namespaced","singularResource":"boat",
			"verbs":["get","list"],"responseKind":{"group":"","version":"","kind":"Boat"},
			"subresources":[{"subresource":"status","verbs":["get"]}]}]},
		{"version":"v2","freshness":"Current","resources":[{"resource":"ships","scope":"Cluster","singularResource":"",
			"verbs":["get"]}]}
	]}]}`,
	`{"paths":{"apis/boats.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/boats.example.com/v1?hash=ABC"},
	"apis/boats.example.com":{"serverRelativeURL":"http://elsewhere/?hash=D%22"},
	"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=EVIL"}}}`,
}

// FuzzDescription: any answers of a server behind give a well-formed description.
func FuzzDescription(f *testing.F) {
	for _, seed := range append([]string{"{}", "", "null", `{"items":[{"versions":[{"resources":[{}]}]}]}`,
		`{"resources":[{"name":"a/b","verbs":null},{"name":"a","namespaced":true}]}`,
		`{"resources":[{"name":"/"},{"name":""}]}`}, boats...) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		resources, schemas := described(body)
		for i := range resources {
			doc, err := codec.AppendJSON(nil, &resources[i])
			if err != nil || !json.Valid(doc) {
				t.Errorf("%s, %v", doc, err)
			}
			if resources[i].ResponseKind == nil {
				t.Errorf("a resource without a kind: %s", doc)
			}
		}
		for path, hash := range schemas {
			if strings.ContainsAny(hash, "\"&?#%/ \n<") || len(hash) > 1000 {
				t.Errorf("the document of %q has the hash %q", path, hash)
			}
		}
	})
}

// described returns the description of a server behind that gives the same answer to every request.
func described(body []byte) (resources []apidiscoveryv2.APIResourceDiscovery, schemas map[string]string) {
	d := &description{versions: map[meta.GroupVersion]versionSaid{}}
	_ = d.readAll(body, &description{})
	for _, said := range d.versions {
		resources = append(resources, said.resources...)
	}
	var list meta.APIResourceList
	if codec.DecodeJSON(body, &list) == nil {
		more, _ := fromList(list.APIResources)
		resources = append(resources, more...)
	}
	schemas, _ = readIndex(body)
	return resources, schemas
}
