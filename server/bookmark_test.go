package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// watched returns the paths of all resources that discovery lists with the verb watch.
func (p *inProcess) watched() (paths []string) {
	p.TB.Helper()
	for _, base := range []string{"/api", "/apis"} {
		_, body := p.do("GET", base, "", "Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		var groups struct {
			Items []struct {
				Metadata struct{ Name string }
				Versions []struct {
					Version   string
					Resources []struct {
						Resource string
						Verbs    []string
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &groups); err != nil {
			p.TB.Fatalf("%s: %v in %s", base, err, body)
		}
		for _, g := range groups.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					if slices.Contains(r.Verbs, "watch") {
						path := strings.TrimSuffix(base+"/"+g.Metadata.Name, "/") + "/" + v.Version + "/" + r.Resource
						paths = append(paths, path)
					}
				}
			}
		}
	}
	return paths
}

// TestLastBookmark watches every resource until the watch times out. The last event is a bookmark,
// from which the client can continue. In a Table it is the row of an empty object. The test runs in
// fake time, so that the timeout comes only when all events have been sent.
func TestLastBookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newInProcess(t)
		paths := p.watched()
		if len(paths) == 0 {
			t.Fatal("discovery shows nothing to watch")
		}
		var wg sync.WaitGroup
		for _, path := range paths {
			for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
				wg.Go(func() { p.wantLastBookmark(path, accept) })
			}
		}
		wg.Wait()
	})
}

// wantLastBookmark watches a resource with an Accept header for a second.
func (p *inProcess) wantLastBookmark(path, accept string) {
	_, body := p.do("GET", path+"?watch=1&allowWatchBookmarks=true&timeoutSeconds=1", "", "Accept", accept)
	var last struct {
		Type   string
		Object struct {
			Metadata struct{ ResourceVersion string }
			Rows     []struct {
				Object struct {
					Metadata struct{ ResourceVersion string }
				}
			}
		}
	}
	for dec := json.NewDecoder(strings.NewReader(body)); dec.More(); {
		last.Object.Rows = nil
		if err := dec.Decode(&last); err != nil {
			p.TB.Errorf("%s as %s: %v in %s", path, accept, err, body)
			return
		}
	}
	got := fmt.Sprint(last.Type, " ", last.Object.Metadata.ResourceVersion)
	want := "BOOKMARK " + p.revision()
	for _, row := range last.Object.Rows {
		got += " " + row.Object.Metadata.ResourceVersion
	}
	if strings.Contains(accept, "as=Table") {
		want += " " + p.revision()
	}
	if got != want {
		p.TB.Errorf("%s as %s: got %s, want %s", path, accept, got, want)
	}
}

// revision returns the revision of the store.
func (p *inProcess) revision() string {
	p.TB.Helper()
	_, body := p.do("GET", "/api/v1/configmaps?limit=1", "")
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		p.TB.Fatal(err)
	}
	return list.Metadata.ResourceVersion
}
