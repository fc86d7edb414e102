package embedded_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/storagetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		victim(dir)
	}
	if wal.SegmentSizeBytes != 64*1000*1000 {
		fmt.Println("to import the package has changed etcd's log")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// seen returns the revision of an open store.
func seen(s *embedded.Store) storage.Revision {
	rev, err := s.Revision(context.Background())
	if err != nil {
		panic(err)
	}
	return rev
}

// located is a store with its folder.
type located struct {
	*embedded.Store
	dir string
}

func TestLaws(t *testing.T) {
	t.Parallel()
	openAt := func(t *testing.T, dir string) storage.Store {
		s, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		return located{s, dir}
	}
	storagetest.Run(t, storagetest.Engine{
		Open:   func(t *testing.T) storage.Store { return openAt(t, t.TempDir()) },
		Reopen: func(t *testing.T, s storage.Store) storage.Store { return openAt(t, s.(located).dir) },
	})
}
