package bootstrap_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest"
)

// shipDefinition defines ships, whose spec has sails.
const shipDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.quay.example.com}
spec:
  group: quay.example.com
  scope: Namespaced
  names: {plural: ships, kind: Ship}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {sails: {type: integer, minimum: 1}}}}
`

// manifestFiles writes files and returns their folder.
func manifestFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ship returns an object that shipDefinition defines.
func ship(namespace, name string, sails int) string {
	return fmt.Sprintf("apiVersion: quay.example.com/v1\nkind: Ship\nmetadata: {namespace: %q, name: %s}\nspec: {sails: %d}\n", namespace, name, sails)
}

// TestManifests starts servers, one after the other and two at once, with a folder in which objects
// stand before the definitions and namespaces that they need.
func TestManifests(t *testing.T) {
	dir := manifestFiles(t, map[string]string{
		"a.yaml": ship("", "one", 1) + "---\n" + ship("harbor", "two", 2),
		"b.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"b"}}`,
		"c.yml":  shipDefinition + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: harbor}\n",
	})
	config := server.Config{API: server.APIConfig{Manifests: dir}, Storage: server.StorageConfig{Store: newShared(t)}}
	paths := []string{
		"/apis/quay.example.com/v1/namespaces/default/ships/one", "/apis/quay.example.com/v1/namespaces/harbor/ships/two",
		"/api/v1/namespaces/default/configmaps/settings", "/api/v1/namespaces/harbor", definitions + "/ships.quay.example.com",
	}
	// versions starts a server, and returns the resourceVersions of all objects once the server is
	// ready.
	versions := func(t *testing.T) string {
		h := &running{servertest.Start(t, config), t}
		if code, body := h.raw("GET", "/readyz/poststarthook/apply-manifests", ""); code != 200 {
			t.Errorf("readiness: got %d %s", code, body)
		}
		var found []string
		for _, path := range paths {
			code, tree := h.do("GET", path, "")
			if code != 200 {
				t.Errorf("GET %s: got %d", path, code)
			}
			found = append(found, fmt.Sprint(value(tree, "metadata.resourceVersion")))
		}
		h.want(200, "GET", paths[0], "", map[string]any{"spec.sails": 1, "metadata.managedFields.0.manager": "coracle-manifests"})
		return strings.Join(found, " ")
	}
	var wg sync.WaitGroup // two servers start at once on an empty store
	for range 2 {
		wg.Go(func() { t.Run("first", func(t *testing.T) { versions(t) }) })
	}
	wg.Wait()
	before := versions(t)
	if after := versions(t); after != before {
		t.Errorf("another start: got the versions %s, want as before: %s", after, before)
	}
	// The next start restores the fields that the files set, and leaves other fields as they are.
	h := &running{servertest.Start(t, server.Config{Storage: config.Storage}), t}
	h.want(200, "PATCH", paths[0], `{"metadata":{"labels":{"a":"b"}},"spec":{"sails":7}}`, nil, "Content-Type", "application/merge-patch+json")
	h = &running{servertest.Start(t, config), t}
	h.want(200, "GET", paths[0], "", map[string]any{"spec.sails": 1, "metadata.labels": "map[a:b]"})
}

// TestBadManifests: a bad manifest ends the start with an error that names the file and the fault.
func TestBadManifests(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no YAML":            {map[string]string{"a.yaml": "{"}, "a.yaml: document 1: yaml: "},
		"unknown kind":       {map[string]string{"a.yaml": ship("", "one", 1)}, `a.yaml: document 1: Ship "one": no matches for kind "Ship" in version "quay.example.com/v1"`},
		"no name":            {map[string]string{"a.yaml": "kind: Namespace\napiVersion: v1"}, `a.yaml: document 1: Namespace "": metadata.name is not set`},
		"no namespace":       {map[string]string{"a.yaml": shipDefinition + "---\n" + ship("none", "one", 1)}, `a.yaml: document 2: Ship "one": namespaces "none" not found`},
		"bad definition":     {map[string]string{"a.yaml": strings.Replace(shipDefinition, "Namespaced", "Wide", 1)}, `a.yaml: document 1: CustomResourceDefinition "ships.quay.example.com": CustomResourceDefinition.apiextensions.k8s.io "ships.quay.example.com" is invalid: spec.scope`},
		"bad object":         {map[string]string{"a.yaml": shipDefinition, "b.yaml": ship("", "one", 0)}, `b.yaml: document 1: Ship "one": Ship.quay.example.com "one" is invalid: spec.sails`},
		"unknown field":      {map[string]string{"a.yaml": shipDefinition, "b.yaml": ship("", "one", 1) + "mast: 1"}, `b.yaml: document 1: Ship "one":`},
		"names of another's": {map[string]string{"a.yaml": shipDefinition + "---" + strings.ReplaceAll(shipDefinition, "ships", "boats")}, "s.quay.example.com are not accepted: "},
		"no certificates": {map[string]string{"a.yaml": shipDefinition + "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: " +
			"{url: \"https://a.example\", caBundle: \"YQ==\"}}}\n"}, "a.yaml: document 1: ships.quay.example.com cannot be established: the caBundle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := server.Config{
				DataDir: t.TempDir(), API: server.APIConfig{Manifests: manifestFiles(t, tt.files)}, Storage: server.StorageConfig{Engine: server.StorageMemory},
				Serving: server.ServingConfig{SecurePort: server.NoPort, HTTPPort: server.AnyPort},
			}
			s, err := servertest.New(t, config)
			if err == nil {
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					select {
					case <-s.Ready():
						cancel(errors.New("it is ready"))
					case <-ctx.Done():
					}
				}()
				err = errors.Join(s.Run(ctx), context.Cause(ctx))
				cancel(nil)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestDefinitionsOnly: a server with the profile crd-only serves custom resources.
func TestDefinitionsOnly(t *testing.T) {
	dir := manifestFiles(t, map[string]string{"a.yaml": shipDefinition + "---\n" + ship("", "one", 1)})
	h := &running{servertest.Start(t, server.Config{API: server.APIConfig{Manifests: dir, Profile: server.ProfileCRDOnly}}), t}
	h.want(200, "GET", "/apis/quay.example.com/v1/namespaces/default/ships/one", "", map[string]any{"spec.sails": 1})
	h.want(200, "DELETE", definitions+"/ships.quay.example.com", "", nil)
	h.gone(definitions + "/ships.quay.example.com")
	if code, _ := h.raw("GET", "/apis/apps/v1", ""); code != 404 {
		t.Errorf("apps: got %d, want 404", code)
	}
}
