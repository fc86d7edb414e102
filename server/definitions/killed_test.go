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

// mortal is a store whose server dies when it has written a number of times what definitions are
// made of: from then on it writes nothing. The last write may be one that it has not heard of.
type mortal struct {
	quaytest.Distant
	left    atomic.Int64
	unheard bool
}

var errDead = &storage.Error{Op: "write", Kind: storage.Unavailable}

func (m *mortal) dead() bool { return m.left.Load() <= 0 }

// write lets a write happen, if that may be.
func (m *mortal) write(key string, do func() error) error {
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

func (m *mortal) Put(ctx context.Context, key string, value []byte, pre storage.Pre, lease storage.LeaseID) (e storage.Entry, err error) {
	err = m.write(key, func() error { e, err = m.Store.Put(ctx, key, value, pre, lease); return err })
	return e, err
}

func (m *mortal) Delete(ctx context.Context, key string, pre storage.Pre) (rev storage.Revision, err error) {
	err = m.write(key, func() error { rev, err = m.Store.Delete(ctx, key, pre); return err })
	return rev, err
}

// TestDefinitionKilled ends a server after each of the writes that the life of a definition takes.
// Another one completes what it finds: the definition is established, or gone with its instances.
func TestDefinitionKilled(t *testing.T) {
	const writes = 10 // two of the definition, two instances, its deletion and beginning, two more, its end, and nothing
	for n := range writes + 1 {
		t.Run(fmt.Sprint("writes=", n), func(t *testing.T) {
			t.Parallel()
			store := memory.New(memory.Config{})
			defer store.Close()
			m := &mortal{Distant: quaytest.Distant{Store: store}, unheard: n%2 == 0}
			m.left.Store(int64(n))
			t.Run("first", func(t *testing.T) { live(quaytest.New(t, quietly(m)), m) })
			t.Run("second", func(t *testing.T) { completed(quaytest.New(t, quietly(&quaytest.Distant{Store: store}))) })
		})
	}
}

// quietly is a server with a store and no controllers.
func quietly(store storage.Store) server.Config {
	return server.Config{Storage: server.StorageConfig{Store: store}, Controllers: []string{}}
}

const shipsName = quaytest.Definitions + "/ships.quay.example.com"

// live takes a definition through its life, which may end early.
func live(q *quaytest.Quay, m *mortal) {
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

// completed waits until the definition is what it is going to be.
func completed(q *quaytest.Quay) {
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
