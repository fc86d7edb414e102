package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/coracle-project/coracle/storage"
)

// Config says how to reach a cluster.
type Config struct {
	Endpoints []string // host:port or URLs; required
	// CAFile, CertFile and KeyFile are PEM files; with any of them the connection is TLS, as it is with an https
	// endpoint. CertFile is read again for each connection, so that it can be rotated.
	CAFile, CertFile, KeyFile string
	Username, Password        string
	// DialTimeout bounds Open and each connection attempt, default 5 s.
	DialTimeout time.Duration
	// Page is the number of entries in one answer of etcd, default 1000.
	Page int64
	// Logger receives the client's warnings, default none.
	Logger *zap.Logger
}

// Store is the engine over a cluster. It implements storage.Store.
type Store struct {
	Core
	client *clientv3.Client
	watch  pb.WatchClient
	own    bool // Close closes client

	cursors struct {
		sync.Mutex
		open map[*cursor]struct{}
	}
}

var _ storage.Store = (*Store)(nil)

// Open connects to a cluster and waits until it answers, at most DialTimeout.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("etcd: no endpoints")
	}
	if cfg.DialTimeout <= 0 {
		cfg.DialTimeout = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	tlsConfig, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            cfg.Endpoints,
		DialTimeout:          cfg.DialTimeout,
		DialKeepAliveTime:    30 * time.Second,
		DialKeepAliveTimeout: 10 * time.Second,
		TLS:                  tlsConfig,
		Username:             cfg.Username,
		Password:             cfg.Password,
		Logger:               cfg.Logger.WithOptions(zap.IncreaseLevel(zap.WarnLevel)),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryLast},
			MinConnectTimeout: cfg.DialTimeout,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	s := New(client)
	s.own = true
	if cfg.Page > 0 {
		s.Page = cfg.Page
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	if err := s.await(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("etcd: no answer from %v: %w", cfg.Endpoints, err)
	}
	return s, nil
}

// await asks for the revision until there is an answer.
func (s *Store) await(ctx context.Context) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_, err := s.Current(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// New returns a store over a client that the caller keeps and closes after the store.
func New(client *clientv3.Client) *Store {
	s := &Store{client: client, watch: pb.NewWatchClient(client.ActiveConnection())}
	s.Server = remote{kv: clientv3.RetryKVClient(client), lease: clientv3.RetryLeaseClient(client)}
	s.Page = 1000
	s.cursors.open = map[*cursor]struct{}{}
	return s
}

// Revision implements storage.Store. It costs a round trip and a quorum.
func (s *Store) Revision(ctx context.Context) (storage.Revision, error) { return s.Current(ctx) }

// Close implements storage.Store.
func (s *Store) Close() error {
	if !s.Shut() {
		return nil
	}
	s.cursors.Lock()
	open := s.cursors.open
	s.cursors.open = nil
	s.cursors.Unlock()
	for c := range open {
		c.Close()
	}
	if !s.own {
		return nil
	}
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// tls returns nil for a connection in the clear.
func (cfg Config) tls() (*tls.Config, error) {
	if cfg.CAFile == "" && cfg.CertFile == "" && cfg.KeyFile == "" {
		return nil, nil // clientv3 takes the scheme of the endpoints
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("etcd: CA file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcd: CA file %s holds no certificate", cfg.CAFile)
		}
	}
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("etcd: a client certificate and its key must be given together")
	}
	if cfg.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
			return &cert, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("etcd: client certificate: %w", err)
		}
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return out, nil
}

// remote is a Server behind a connection. The limits on message sizes are left to the server: gRPC's own are below
// what a page of large objects needs.
type remote struct {
	kv    pb.KVClient
	lease pb.LeaseClient
}

var callOptions = []grpc.CallOption{grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(math.MaxInt32)}

func (r remote) Range(ctx context.Context, req *pb.RangeRequest, _ bool) (*pb.RangeResponse, error) {
	return r.kv.Range(ctx, req, callOptions...)
}

func (r remote) Txn(ctx context.Context, req *pb.TxnRequest) (*pb.TxnResponse, error) {
	return r.kv.Txn(ctx, req, callOptions...)
}

func (r remote) Compact(ctx context.Context, req *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	return r.kv.Compact(ctx, req, callOptions...)
}

func (r remote) LeaseGrant(ctx context.Context, req *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return r.lease.LeaseGrant(ctx, req, callOptions...)
}
