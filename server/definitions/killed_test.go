package definitions_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/servertest/quaytest"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/memory"
)

// dyingStore is a store that stands for a server that dies after a number of writes to definitions
// and instances: all later writes fail. If unheard, the last write happens but is reported in
// doubt.
type dyingStore struct {
	quaytest.DelayedStore
	left    atomic.Int64 // writes until the server dies
	unheard bool
}

var errDead = &storage.Error{Op: "write", Kind: storage.Unavailable}

func (m *dyingStore) dead() bool { return m.left.Load() <= 0 }

// write calls do, unless the server is dead. Keys of other resources are always written.
func (m *dyingStore) write(key string, do func() error) error {
	if !strings.Contains(key, "/apiextensions.k8s.io/") && !strings.Contains(key, "/quay.example.com/") {
		return do()
	}
	switch left := m.left.Add(-1); {
	case left < 0:
		return errDead
	case left > 0 || !m.unheard:
		return do()
	}
	if err := do(); err != nil {
		return err
	}
	return &storage.Error{Op: "write", Kind: storage.InDoubt}
}

func (m *dyingStore) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (e storage.Entry, err error) {
	err = m.write(key, func() error { e, err = m.Store.Put(ctx, key, value, pre, lease); return err })
	return e, err
}

func (m *dyingStore) Delete(ctx context.Context, key string, pre storage.Pre) (rev storage.Revision, err error) {
	err = m.write(key, func() error { rev, err = m.Store.Delete(ctx, key, pre); return err })
	return rev, err
}

// TestDefinitionKilled stops a server after each of the writes that the life of a definition takes.
// Another server completes the work: it establishes the definition, or deletes it with its
// instances.
func TestDefinitionKilled(t *testing.T) {
	// Two writes of the definition, two of instances, the definition's deletion and its condition
	// Terminating, two deletions of instances, the definition's end, and one to spare.
	const writes = 10
	for n := range writes + 1 {
		t.Run(fmt.Sprint("writes=", n), func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.Config{})
			defer store.Close()
			m := &dyingStore{DelayedStore: quaytest.DelayedStore{Store: store}, unheard: n%2 == 0}
			m.left.Store(int64(n))
			t.Run("first", func(t *testing.T) { liveUntilDead(quaytest.New(t, withoutControllers(m)), m) })
			t.Run("second", func(t *testing.T) {
				complete(quaytest.New(t, withoutControllers(&quaytest.DelayedStore{Store: store})))
			})
		})
	}
}

// withoutControllers returns the configuration of a server on a store, without controllers.
func withoutControllers(store storage.Store) server.Config {
	return server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}}
}

const shipsName = quaytest.Definitions + "/ships.quay.example.com"

// liveUntilDead creates and deletes a definition and its instances, until all is done or the server
// dies.
func liveUntilDead(q *quaytest.Quay, m *dyingStore) {
	wait := func(what string, done func() bool) {
		for end := time.Now().Add(20 * time.Second); !m.dead() && !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				q.T.Fatal(what)
			}
		}
	}
	q.Raw("POST", quaytest.Definitions, q.Definition("ships", "Ship", "", quaytest.Version("v1", true)))
	wait("the definition is not established", func() bool { return strings.HasPrefix(q.Condition("ships", "Established"), "True") })
	for i := range 2 {
		q.Raw("POST", q.Path("ships", "v1"), fmt.Sprintf(`{"apiVersion":"quay.example.com/v1","kind":"Ship","metadata":{"name":"s%d"}}`, i))
	}
	q.Raw("DELETE", shipsName, "")
	wait("the definition does not go", func() bool { code, _ := q.Raw("GET", shipsName, ""); return code == 404 })
}

// complete deletes the definition that it finds, if any, and waits until the definition and the
// instances are gone. Then it defines the same resource again, which must be empty.
func complete(q *quaytest.Quay) {
	code, tree := q.Do("GET", shipsName, "")
	if code == 200 && quaytest.Value(tree, "metadata.deletionTimestamp") == nil {
		q.Until("ships", "Established", "True")
		q.Want(200, "GET", q.Path("ships", "v1"), "", nil)
		q.Want(200, "DELETE", shipsName, "", nil)
	}
	q.Gone(shipsName)
	q.Gone(q.Path("ships", "v1"))
	q.Define("ships", "Ship", quaytest.Version("v1", true))
	q.Want(200, "GET", q.Path("ships", "v1"), "", map[string]any{"items": "[]"})
}
