package embedded

import (
	"net"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
)

// Serve lets s answer gRPC, as an etcd of its own would, until the returned function. It listens at a socket in dir: at the
// same one again after an end, which nobody else can have taken meanwhile.
func Serve(t testing.TB, s *Store, dir string) (endpoint string, stop func()) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	srv := v3rpc.Server(s.server, nil, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(l)
	}()
	return "unix://" + l.Addr().String(), func() {
		srv.Stop()
		<-done
	}
}
