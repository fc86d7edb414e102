package etcd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded/etcdproc"
)

// The laws are tested on this engine in storage/embedded, which may import a server to run it
// against.

func TestMain(m *testing.M) {
	etcdproc.Main()
	goleak.VerifyTestMain(m)
}

func TestErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name        string
		ctx         context.Context
		err         error
		read, write storage.Kind // 0: the context's error
	}{
		{"compacted", t.Context(), rpctypes.ErrGRPCCompacted, storage.Compacted, storage.Compacted},
		{"too large", t.Context(), rpctypes.ErrGRPCRequestTooLarge, storage.TooLarge, storage.TooLarge},
		{"too large for gRPC", t.Context(), status.Error(codes.ResourceExhausted, "grpc: received message larger than max (1 vs. 2)"), storage.TooLarge, storage.TooLarge},
		{"no lease", t.Context(), rpctypes.ErrGRPCLeaseNotFound, storage.NoLease, storage.NoLease},
		{"no space", t.Context(), rpctypes.ErrGRPCNoSpace, storage.Unavailable, storage.InDoubt},
		{"too many requests", t.Context(), rpctypes.ErrGRPCRequestTooManyRequests, storage.Unavailable, storage.Unavailable},
		{"no leader", t.Context(), rpctypes.ErrGRPCNoLeader, storage.Unavailable, storage.Unavailable},
		{"leader changed", t.Context(), rpctypes.ErrGRPCLeaderChanged, storage.Unavailable, storage.InDoubt},
		{"timeout", t.Context(), rpctypes.ErrGRPCTimeout, storage.Unavailable, storage.InDoubt},
		{"stopped", t.Context(), rpctypes.ErrGRPCStopped, storage.Unavailable, storage.InDoubt},
		{"connection lost", t.Context(), status.Error(codes.Unavailable, "transport is closing"), storage.Unavailable, storage.InDoubt},
		{"unknown", t.Context(), errors.New("?"), storage.Unavailable, storage.InDoubt},
		{"canceled", ended, context.Canceled, 0, storage.InDoubt},
		{"canceled by gRPC", ended, status.Error(codes.Canceled, "context canceled"), 0, storage.InDoubt},
		{"refused before the end", ended, rpctypes.ErrGRPCRequestTooLarge, storage.TooLarge, storage.TooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &core{}
			got := c.readError(tt.ctx, "get", "/a/x", tt.err)
			if storage.KindOf(got) != tt.read || tt.read == 0 && !errors.Is(got, tt.ctx.Err()) {
				t.Errorf("reading: got %v, want %v", got, tt.read)
			}
			got = c.writeError(tt.ctx, "put", "/a/x", tt.err)
			if storage.KindOf(got) != tt.write {
				t.Errorf("writing: got %v, want %v", got, tt.write)
			}
			if tt.read == 0 && !errors.Is(got, tt.ctx.Err()) {
				t.Errorf("writing: got %v, want the context's error as cause", got)
			}
		})
	}
}

// TestHeaders: calls carry the metadata of Config.Headers.
func TestHeaders(t *testing.T) {
	var got atomic.Pointer[[]string]
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if in, _ := metadata.FromIncomingContext(stream.Context()); in["traceparent"] != nil {
			values := in["traceparent"]
			got.Store(&values)
		}
		return status.Error(codes.Unimplemented, "this is no etcd")
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	defer serving.Wait()
	defer s.Stop()
	type key struct{}
	cfg := Config{Endpoints: []string{l.Addr().String()}, Headers: func(ctx context.Context) []string {
		if name, ok := ctx.Value(key{}).(string); ok {
			return []string{"traceparent", name}
		}
		return nil
	}}
	if store, err := Open(context.WithValue(t.Context(), key{}, "a-trace"), cfg); err == nil {
		store.Close()
		t.Error("a server that is no etcd was opened")
	}
	if values := got.Load(); values == nil || !slices.Equal(*values, []string{"a-trace"}) {
		t.Errorf("got metadata %v", values)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pem")
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "no endpoints"},
		{Config{CAFile: filepath.Join(dir, "none")}, "no such file"},
		{Config{CAFile: bad}, "holds no certificate"},
		{Config{CertFile: bad}, "must be given together"},
		{Config{CertFile: bad, KeyFile: bad}, "client certificate"},
	} {
		if tt.want != "no endpoints" {
			tt.cfg.Endpoints = []string{"127.0.0.1:1"}
		}
		tt.cfg.DialTimeout = 50 * time.Millisecond
		if s, err := Open(t.Context(), tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			if err == nil {
				s.Close()
			}
			t.Errorf("Open(%+v): got %v, want %q", tt.cfg, err, tt.want)
		}
	}
}

func TestEvent(t *testing.T) {
	kv := &mvccpb.KeyValue{Key: []byte("/a/x"), Value: []byte("v"), CreateRevision: 3, ModRevision: 5}
	if _, ok := event(&mvccpb.Event{Kv: kv}, true); ok {
		t.Error("an update without its previous value: want it reported")
	}
	if e, ok := event(&mvccpb.Event{Kv: kv}, false); !ok || e.Created || e.Rev != 5 || string(e.Value) != "v" {
		t.Errorf("got %+v, %v", e, ok)
	}
	e, ok := event(&mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("/a/x"), ModRevision: 6}, PrevKv: kv}, true)
	if !ok || !e.Deleted || e.Value != nil || string(e.Prev) != "v" || e.PrevRev != 5 {
		t.Errorf("got %+v, %v", e, ok)
	}
}
