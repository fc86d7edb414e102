package embedded

import (
	"net"
	"testing"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
)

// Serve lets s answer gRPC at an address of the loopback interface, as an etcd of its own would, until the returned function.
func Serve(t testing.TB, s *Store, address string) (endpoint string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	srv := v3rpc.Server(s.server, nil, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(l)
	}()
	return l.Addr().String(), func() {
		srv.Stop()
		<-done
	}
}
