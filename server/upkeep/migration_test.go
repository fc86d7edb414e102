package upkeep_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/servertest"
	"github.com/coracle-project/coracle/server/upkeep"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lateStore is a store that several servers share. Each batch of its events comes after a delay,
// and Close does nothing.
type lateStore struct {
	storage.Store
	late time.Duration
}

func (lateStore) Close() error { return nil }

func (d lateStore) Watch(ctx context.Context, req storage.WatchRequest) (storage.Cursor, error) {
	c, err := d.Store.Watch(ctx, req)
	return &lateCursor{c, d.late}, err
}

type lateCursor struct {
	storage.Cursor
	late time.Duration
}

func (c *lateCursor) Next(ctx context.Context) (storage.Batch, error) {
	batch, err := c.Cursor.Next(ctx)
	time.Sleep(c.late)
	return batch, err
}

// ships is a server with a custom resource of that name, in the versions v1 and v2.
type ships struct {
	*servertest.Server
	*testing.T
	definitions client.Resource[*apiextensionsv1.CustomResourceDefinition]
}

const shipsName = "ships.quay.example.com"

func newShips(t *testing.T, store storage.Store) *ships {
	s := servertest.Start(t, server.Config{Storage: server.StorageConfig{Store: store}})
	gvr := apiextensionsv1.GroupVersion.WithResource("customresourcedefinitions")
	return &ships{s, t, client.For[*apiextensionsv1.CustomResourceDefinition](s.Server.Client(), gvr)}
}

// versions returns the versions of a definition, of which stored is the storage version.
func versions(stored string, names ...string) (list []any) {
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "served": true, "storage": name == stored, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}})
	}
	return list
}

// change patches the versions of the definition.
func (s *ships) change(versions []any) {
	s.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	if err == nil {
		_, err = s.definitions.Patch(s.Context(), shipsName, client.MergePatch, patch, meta.PatchOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// define creates the definition with the versions v1 and v2, of which v1 is the storage version,
// and waits until it is established.
func (s *ships) define() {
	s.Helper()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": shipsName},
		"spec": map[string]any{
			"group": "quay.example.com", "scope": "Cluster", "names": map[string]any{"plural": "ships", "kind": "Ship"},
			"versions": versions("v1", "v1", "v2"),
		},
	})
	def := new(apiextensionsv1.CustomResourceDefinition)
	if err == nil {
		err = json.Unmarshal(body, def)
	}
	if err == nil {
		_, err = s.definitions.Create(s.Context(), def, meta.CreateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	s.until("the definition is established", func() bool {
		def, err := s.definitions.Get(s.Context(), shipsName, meta.GetOptions{})
		return err == nil && extensions.IsConditionTrue(def, apiextensionsv1.Established)
	})
}

func (s *ships) until(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("after 20 s it does not hold that %s", what)
		}
	}
}

// in returns a client of the objects in a version.
func (s *ships) in(version string) client.Resource[*scheme.Unstructured] {
	gv := meta.GroupVersion{Group: "quay.example.com", Version: version}
	return client.For[*scheme.Unstructured](s.Server.Server.Client(), gv.WithResource("ships"))
}

// add creates an object in v1. It may be called from any goroutine.
func (s *ships) add(name string) {
	s.Helper()
	o := &scheme.Unstructured{TypeMeta: meta.TypeMeta{APIVersion: "quay.example.com/v1", Kind: "Ship"}}
	o.Name = name
	if _, err := s.in("v1").Create(s.Context(), o, meta.CreateOptions{}); err != nil {
		s.Error(err)
	}
}

// hash returns the storageVersionHash in the server's discovery.
func (s *ships) hash() string {
	s.Helper()
	found, err := s.Server.Server.Client().APIResource(s.Context(), meta.GroupVersionResource{
		Group: "quay.example.com", Version: "v1", Resource: "ships",
	})
	if err != nil {
		s.Error(err)
	}
	return found.StorageVersionHash
}

// TestMigrationSecondServer migrates while a second server on the store has not yet seen the change
// of the definition, and still stores in the old version. After the old version is removed from the
// definition, all objects can be read.
func TestMigrationSecondServer(t *testing.T) {
	t.Parallel() // it waits
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	near, far := newShips(t, lateStore{store, 0}), newShips(t, lateStore{store, 100 * time.Millisecond})
	near.define()
	far.add("changed")

	before := far.hash()
	if want := router.StorageHash(meta.GroupVersionKind{Group: "quay.example.com", Version: "v1", Kind: "Ship"}); before != want {
		t.Fatalf("got the hash %q, want %q", before, want)
	}
	var writing sync.WaitGroup
	begun := make(chan struct{})
	writing.Go(func() {
		for i := 0; far.hash() == before; i++ {
			if i == 1 {
				close(begun)
			}
			far.add(fmt.Sprint("new", i))
			patch := fmt.Appendf(nil, `{"n":%d}`, i)
			if _, err := far.in("v1").Patch(t.Context(), "changed", client.MergePatch, patch, meta.PatchOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	<-begun
	near.change(versions("v2", "v1", "v2"))
	done, err := upkeep.Migration{Kubeconfig: near.Server.Kubeconfig, Resource: shipsName}.Run(t.Context())
	if err != nil || !slices.Equal(done.StoredVersions, []string{"v2"}) {
		t.Fatalf("got %v, %v, want all stored as v2", done, err)
	}
	writing.Wait()
	near.change(versions("v2", "v2"))
	near.until("v1 is gone", func() bool {
		_, err := near.in("v1").List(t.Context(), meta.ListOptions{})
		return meta.IsNotFound(err)
	})
	for _, s := range []*ships{near, far} {
		list, err := s.in("v2").List(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(list.Items); n < 3 || n != done.Objects {
			t.Errorf("%d objects can be read of %d that were migrated", n, done.Objects)
		}
	}
}
