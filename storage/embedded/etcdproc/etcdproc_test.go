package etcdproc_test

import (
	"errors"
	"testing"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
	"github.com/coracle-project/coracle/storage/etcd"
)

func TestMain(m *testing.M) {
	etcdproc.Main()
	m.Run()
}

// TestStart talks to an etcd in another process.
func TestStart(t *testing.T) {
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{etcdproc.Start(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put, err := s.Put(t.Context(), "/k", []byte("v"), storage.Pre{Absent: true}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), "/k")
	if err != nil || string(got.Value) != "v" || got.Rev != put.Rev {
		t.Errorf("Get: got %+v, %v, want %+v", got, err, put)
	}
	if _, err := s.Put(t.Context(), "/k", []byte("w"), storage.Pre{Absent: true}, 0); !errors.Is(err, storage.Exists) {
		t.Errorf("Put over what exists: got %v, want %v", err, storage.Exists)
	}
}
