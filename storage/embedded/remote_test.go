package embedded_test

import (
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// remote is the etcd engine and the server behind it.
type remote struct {
	*etcd.Store
	server *embedded.Store
	stop   func()
	dir    string
}

func openRemote(t testing.TB, dir string) *remote {
	t.Helper()
	server, err := embedded.Open(t.Context(), embedded.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, stop := embedded.Serve(t, server)
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{endpoint}, Page: 7})
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{Store: s, server: server, stop: stop, dir: dir}
	t.Cleanup(r.shut)
	return r
}

func (r *remote) shut() {
	r.Store.Close()
	r.stop()
	r.server.Close()
}

// TestEtcdLaws runs the etcd engine over gRPC. It is here because only this package may import etcd's server.
func TestEtcdLaws(t *testing.T) {
	storagetest.Run(t, storagetest.Engine{
		Open: func(t *testing.T) storage.Store { return openRemote(t, t.TempDir()) },
		Reopen: func(t *testing.T, s storage.Store) storage.Store {
			r := s.(*remote)
			r.shut()
			return openRemote(t, r.dir)
		},
	})
}
