package embedded_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
)

// etcdServer is etcd's own server, with which tests compare the store. It listens only at the
// socket of serve.
type etcdServer struct {
	*etcdserver.EtcdServer
	t testing.TB
}

// openEtcd runs etcd's server on a directory, which may be an embedded store's, or new.
func openEtcd(t testing.TB, dir string) *etcdServer {
	t.Helper()
	urls, err := types.NewURLs([]string{"http://localhost:2380"})
	if err != nil {
		t.Fatal(err)
	}
	log := zap.NewNop()
	s, err := etcdserver.NewServer(config.ServerConfig{
		Name: "default", DataDir: dir, PeerURLs: urls, ClientURLs: urls,
		InitialPeerURLsMap: types.URLsMap{"default": urls}, InitialClusterToken: "test", NewCluster: true,
		TickMs: 10, ElectionTicks: 10, PreVote: true, BootstrapTimeout: time.Second,
		SnapshotCount: 10000, SnapshotCatchUpEntries: 1, MaxSnapFiles: 5, MaxWALFiles: 5,
		MaxRequestBytes: 3 << 19, MaxTxnOps: 128, BcryptCost: 4, MaxLearners: 1, AuthToken: "simple", TokenTTL: 300,
		UnsafeNoFsync: true, WarningApplyDuration: time.Minute, WarningUnaryRequestDuration: time.Minute,
		ServerFeatureGate: features.NewDefaultServerFeatureGate("default", log), Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	select {
	case <-s.ReadyNotify():
	case <-time.After(time.Minute):
		t.Fatal("etcd does not start")
	}
	return &etcdServer{s, t}
}

func (e *etcdServer) put(key, value string) storage.Revision {
	e.t.Helper()
	r, err := e.Put(context.Background(), &pb.PutRequest{Key: []byte(key), Value: []byte(value)})
	if err != nil {
		e.t.Fatal(err)
	}
	return storage.Revision(r.Header.Revision)
}

func (e *etcdServer) close() { e.HardStop() }

// serve answers gRPC until stop is called. It listens at a socket in dir, because no other process
// can take the socket between two calls.
func (e *etcdServer) serve(dir string) (endpoint string, stop func()) {
	e.t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		e.t.Fatal(err)
	}
	srv := v3rpc.Server(e.EtcdServer, nil, nil)
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
