package definitions_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
)

const (
	definitionKeys = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
	shipKey        = "/registry/quay.example.com/ships/a"
)

// established returns a stored definition of ships with the given versions, which has its names.
func established(q *quaytest.Quay, versions ...string) string {
	text := q.Definition("ships", "Ship", "", versions...)
	return `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","status":{"conditions":[
		{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}],"acceptedNames":{"plural":"ships","kind":"Ship"}},` + text[1:]
}

// TestDefinitionUndeclared deletes a definition that no server can serve, because it has no
// versions. While an instance is stored, the definition stays, and its status says why. When the
// instance is gone, the definition goes.
func TestDefinitionUndeclared(t *testing.T) {
	t.Parallel() // it waits
	store := quaytest.NewStore(t)
	q := &quaytest.Quay{Group: "quay.example.com"}
	for key, value := range map[string]string{
		definitionKeys + "ships.quay.example.com": established(q),
		shipKey: `{"kind":"Ship","apiVersion":"quay.example.com/v1","metadata":{"name":"a"}}`,
	} {
		if _, err := store.Put(t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	q = quaytest.New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", nil)
	const why = "True InstanceDeletionFailed could not list instances: unable to find a custom resource client for ships.quay.example.com: the kind Ship.quay.example.com has no versions"
	q.Until("ships", "Terminating", why)
	q.Want(200, "GET", quaytest.Definitions+"/ships."+q.Group, "", map[string]any{"metadata.finalizers": "[customresourcecleanup.apiextensions.k8s.io]"})
	if _, err := store.Delete(t.Context(), shipKey, storage.Pre{}); err != nil {
		t.Fatal(err)
	}
	q.Gone(quaytest.Definitions + "/ships." + q.Group)
}

// TestDefinitionMended repairs a definition that could not be served, while the definition is being
// deleted. The server then can delete the instances.
func TestDefinitionMended(t *testing.T) {
	t.Parallel() // it waits
	store := quaytest.NewStore(t)
	q := &quaytest.Quay{Group: "quay.example.com"}
	for key, value := range map[string]string{
		definitionKeys + "ships.quay.example.com": established(q),
		shipKey: `{"kind":"Ship","apiVersion":"quay.example.com/v1","metadata":{"name":"a"}}`,
	} {
		if _, err := store.Put(t.Context(), key, []byte(value), storage.Pre{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	q = quaytest.New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", nil)
	q.Until("ships", "Terminating", "True InstanceDeletionFailed")
	q.Change(`{"spec":{"versions":[` + quaytest.Version("v1", true) + `]}}`)
	q.Gone(quaytest.Definitions + "/ships." + q.Group)
	if res, err := store.Range(t.Context(), storage.RangeRequest{Prefix: "/registry/quay.example.com/"}); err != nil || len(res.Entries) > 0 {
		t.Errorf("after the definition: got %d instances, %v", len(res.Entries), err)
	}
}

// conflictingStore is a store that fails the first writes of the condition Terminating with a
// conflict that looks like a client's.
type conflictingStore struct {
	storage.Store
	left atomic.Int64
}

func (r *conflictingStore) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (storage.Entry, error) {
	if strings.HasPrefix(key, definitionKeys) && strings.Contains(string(value), "InstanceDeletionInProgress") && r.left.Add(-1) >= 0 {
		return storage.Entry{}, meta.NewConflict(meta.GroupResource{}, "x", errors.New("not now"))
	}
	return r.Store.Put(ctx, key, value, pre, lease)
}

func (r *conflictingStore) Close() error { return nil }

// TestDefinitionConflict checks that only a change of the definition ends the work on it: after
// another conflict the server tries the write again.
func TestDefinitionConflict(t *testing.T) {
	t.Parallel() // it waits
	store := &conflictingStore{Store: quaytest.NewStore(t)}
	store.left.Store(1)
	q := quaytest.New(t, server.Config{Storage: server.StorageConfig{Store: store}})
	q.Define("ships", "Ship", quaytest.Version("v1", true))
	q.Want(201, "POST", q.Path("ships", "v1"), `{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"a"}}`, nil)
	q.Want(200, "DELETE", quaytest.Definitions+"/ships."+q.Group, "", nil)
	q.Gone(quaytest.Definitions + "/ships." + q.Group)
	if store.left.Load() >= 0 {
		t.Error("no write was refused")
	}
}
