package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/memory"
)

// examples holds an object of each resource that is served, in plural.group.yaml.
const examples = "testdata/kinds"

// noExample is the message about a missing example.
const noExample = `%s: %v
Every resource that is served needs an example there: one object with as many fields as the rules let stand side by side, in the
most preferred version, spelled as the server spells it (cpu: "1", not 1000m), with labels, in the namespace "ns" if it is in one,
and with a status if there is a door to that.`

// TestKinds takes an example of every served resource through all verbs. The example is created,
// read in each encoding and version and written back, patched in three ways, updated, shown as a
// table, listed by label and by each selectable field, and deleted. A watch must have all these
// changes.
func TestKinds(t *testing.T) {
	p := newInProcess(t, func(c *server.Config) { // the server does not run, but services get node ports
		c.Storage = server.StorageConfig{Store: memory.New(memory.Config{Rev: 2, Entries: []storage.Entry{{
			Key: "/registry/ranges/servicenodeports", Rev: 2,
			Value: []byte(`{"kind":"RangeAllocation","apiVersion":"v1","metadata":{},"range":"30000-32767","data":""}`),
		}}})}
	})
	resources := resourcesToPlay(t, p)
	for _, r := range resources {
		file := filepath.Join(examples, strings.TrimSuffix(r.Resource+"."+r.Group, ".")+".yaml")
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf(noExample, file, err)
			}
			r.play(&inProcess{&handled{Server: p.Server, TB: t}}, text)
		})
	}
	files, err := os.ReadDir(examples)
	if err != nil || len(files) > len(resources) {
		t.Errorf("%d examples of %d resources: %v", len(files), len(resources), err)
	}
}

// playedResource is a stored resource, with the paths of all versions and groups that serve it.
type playedResource struct {
	meta.GroupResource
	paths []string // of its collections, in the namespace "ns" if it is namespaced; the preferred version first
	doors []string // "status"
	store *registry.Store
}

// resourcesToPlay returns the resources that discovery lists with the verb create.
func resourcesToPlay(t *testing.T, p *inProcess) (list []*playedResource) {
	t.Helper()
	played := map[*cache.Resource]*playedResource{}
	for _, path := range []string{"/api", "/apis"} {
		var groups struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version   string
					Resources []struct {
						Resource, Scope string
						Verbs           []string
						Subresources    []struct{ Subresource string }
					}
				}
			}
		}
		_, body := p.do("GET", path, "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		if err := json.Unmarshal([]byte(body), &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					gr := meta.GroupResource{Group: g.Metadata.Name, Resource: r.Resource}
					store := p.Store(gr)
					if store == nil || !slices.Contains(r.Verbs, "create") {
						continue
					}
					one := played[store.Objects()]
					if one == nil {
						one = &playedResource{GroupResource: gr, store: store}
						for _, sub := range r.Subresources {
							one.doors = append(one.doors, sub.Subresource)
						}
						played[store.Objects()], list = one, append(list, one)
					}
					base := strings.TrimSuffix(path+"/"+g.Metadata.Name, "/") + "/" + v.Version
					if r.Scope == "Namespaced" {
						base += "/namespaces/ns"
					}
					one.paths = append(one.paths, base+"/"+r.Resource)
				}
			}
		}
	}
	return list
}
