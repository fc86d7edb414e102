package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/storagetest"
)

// remote is the etcd engine and the server behind it.
type remote struct {
	*etcd.Store
	server *etcdServer
	stop   func()
	dir    string
}

func openRemote(t testing.TB, dir string) *remote {
	t.Helper()
	server := openEtcd(t, dir)
	endpoint, stop := server.serve(t.TempDir())
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
	r.server.close()
}

// TestEtcdLaws runs the etcd engine over gRPC. It is here because only this package may import
// etcd's server.
func TestEtcdLaws(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Engine{
		Open: func(t *testing.T) storage.Store { return openRemote(t, t.TempDir()) },
		Reopen: func(t *testing.T, s storage.Store) storage.Store {
			r := s.(*remote)
			r.shut()
			return openRemote(t, r.dir)
		},
	})
}

// TestEtcdReconnects breaks the connection under a cursor: it resumes, complete and in order.
func TestEtcdReconnects(t *testing.T) {
	t.Parallel()
	server := openEtcd(t, t.TempDir())
	defer server.close()
	dir := t.TempDir()
	endpoint, stop := server.serve(dir)
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Watch(t.Context(), storage.WatchRequest{Prefix: "/a/", Prev: true})
	if err != nil {
		t.Fatal(err)
	}
	last := storage.Revision(server.KV().Rev())
	for round := range 3 {
		for i := range 10 {
			server.put("/a/x", fmt.Sprint(round, i))
			if i == 5 {
				stop()
			}
		}
		if _, err := s.Put(t.Context(), "/a/y", nil, storage.Pre{}, 0); storage.KindOf(err) != storage.InDoubt && storage.KindOf(err) != storage.Unavailable {
			t.Errorf("Put without a connection: got %v, want InDoubt or, if it was not sent, Unavailable", err)
		}
		if _, err := s.Get(t.Context(), "/a/x"); storage.KindOf(err) != storage.Unavailable {
			t.Errorf("Get without a connection: got %v, want Unavailable", err)
		}
		_, stop = server.serve(dir)
		for end := storage.Revision(server.KV().Rev()); last < end; {
			b, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range b.Events {
				if ev.Rev != last+1 {
					t.Fatalf("round %d: got revision %d after %d", round, ev.Rev, last)
				}
				last = ev.Rev
			}
		}
	}
	stop()
	c.Close() // while the store tries to connect
}

func TestEtcdUnreachable(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{"127.0.0.1:1"}, DialTimeout: 300 * time.Millisecond})
	if err == nil {
		s.Close()
		t.Fatal("Open without a server: got no error")
	}
	if took := time.Since(begin); took > 3*time.Second {
		t.Errorf("Open took %v, with a timeout of 300 ms", took)
	}
}
