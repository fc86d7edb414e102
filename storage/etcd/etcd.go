package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/storage"
)

// Opening and closing the Store, and the calls that go over the connection (remote). Open is called
// by the server for --etcd-servers, and by the tests of storage/embedded.

// Config says how to reach a cluster. Endpoints is required.
type Config struct {
	Endpoints []string // host:port, or URLs; required
	// CAFile, CertFile and KeyFile are PEM files. With any of them the connection uses TLS, and
	// also with an https endpoint. CertFile and KeyFile are read again for each connection, so that
	// they can be rotated.
	CAFile, CertFile, KeyFile string
	Username, Password        string
	// DialTimeout bounds each connection attempt, default 5 s.
	DialTimeout time.Duration
	// OpenTimeout bounds Open, default DialTimeout.
	OpenTimeout time.Duration
	// Headers returns the names and values, in turn, of the metadata that calls on behalf of ctx
	// have, such as the headers of a trace; nil if they have none. Default: none.
	Headers func(ctx context.Context) []string
	// Page is the most entries in one answer of etcd, default 1000.
	Page int64
	// Logger gets a line when etcd goes away and one when it is back. At the debug level it gets
	// what the client library logs. Default: no log.
	Logger *zap.Logger
}

// Store is the engine over a cluster. It implements storage.Store.
type Store struct {
	core
	client *clientv3.Client
	link   *link
	watch  pb.WatchClient

	cursors struct {
		sync.Mutex
		open map[*cursor]struct{} // nil after Close
	}
}

var _ storage.Store = (*Store)(nil)

// Open connects to a cluster and waits until it answers, at most OpenTimeout. ctx bounds only Open.
// Close the Store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("etcd: no endpoints")
	}
	if cfg.DialTimeout <= 0 {
		cfg.DialTimeout = 5 * time.Second
	}
	if cfg.Page <= 0 {
		cfg.Page = 1000
	}
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	return open(ctx, cfg, newLink(cfg.Endpoints, cfg.Logger))
}

// open is Open with the defaults filled in and a link of the caller's.
func open(ctx context.Context, cfg Config, l *link) (*Store, error) {
	s, err := connect(ctx, cfg, l)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	dialing, cancel := context.WithTimeout(ctx, cmp.Or(cfg.OpenTimeout, cfg.DialTimeout))
	defer cancel()
	if err := s.await(dialing); err != nil {
		s.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		return nil, fmt.Errorf("etcd: no answer from %v: %w", cfg.Endpoints, err)
	}
	return s, nil
}

// connect makes the store and starts l, which has to be new. It does not wait for a connection, but
// with a password the library waits for a token. ctx bounds connect only; the store lives until
// Close.
func connect(ctx context.Context, cfg Config, l *link) (*Store, error) {
	tlsConfig, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	client, err := clientv3.New(clientv3.Config{
		Context:     life,
		Endpoints:   cfg.Endpoints,
		DialTimeout: cfg.DialTimeout,
		TLS:         tlsConfig,
		Username:    cfg.Username,
		Password:    cfg.Password,
		Logger:      newDebugLogger(cfg.Logger),
		// The second try is for a token that has expired. remote decides which other calls are
		// repeated.
		MaxUnaryRetries: 2,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(l.dial),
			grpc.WithChainUnaryInterceptor(cfg.addHeaders),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: retryFirst, Multiplier: 1.6, Jitter: 0.2,
					MaxDelay: retryLast},
				MinConnectTimeout: cfg.DialTimeout,
			}),
		},
	})
	if err != nil {
		end()
		return nil, err
	}
	conn := client.ActiveConnection()
	l.start(client.Ctx(), conn)
	s := &Store{client: client, link: l, watch: pb.NewWatchClient(conn)}
	s.server = remote{link: l, kv: pb.NewKVClient(conn), lease: pb.NewLeaseClient(conn)}
	s.page = cfg.Page
	s.cursors.open = map[*cursor]struct{}{}
	return s, nil
}

// addHeaders adds the metadata of Config.Headers to a call.
func (cfg *Config) addHeaders(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if cfg.Headers != nil {
		if pairs := cfg.Headers(ctx); pairs != nil {
			ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
		}
	}
	return call(ctx, method, req, reply, conn, opts...)
}

// await asks for the revision until etcd answers. It does not ask the link, which would hide why
// there is no answer.
func (s *Store) await(ctx context.Context) error {
	kv := s.server.kv
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_, err := kv.Range(ctx, &pb.RangeRequest{Key: []byte{0}, CountOnly: true}, callOptions...)
		// the server is no etcd, and trying again will not change that
		if err == nil || status.Code(err) == codes.Unimplemented {
			return err
		}
		if storage.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// Revision implements storage.Store. It costs a round trip and a read from a quorum of the cluster.
func (s *Store) Revision(ctx context.Context) (storage.Revision, error) { return s.current(ctx) }

// Close implements storage.Store.
func (s *Store) Close() error {
	if !s.shut() {
		return nil
	}
	s.cursors.Lock()
	open := s.cursors.open
	s.cursors.open = nil
	s.cursors.Unlock()
	for c := range open {
		c.Close()
	}
	err := s.client.Close()
	s.link.running.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// tls returns the TLS configuration, or nil if no file is given.
func (cfg Config) tls() (*tls.Config, error) {
	if cfg.CAFile == "" && cfg.CertFile == "" && cfg.KeyFile == "" {
		return nil, nil // clientv3 uses TLS for https endpoints
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if cfg.CAFile != "" {
		pem, err := configfile.Read(cfg.CAFile)
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
			cert, err := configfile.KeyPair(cfg.CertFile, cfg.KeyFile)
			return &cert, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("etcd: client certificate: %w", err)
		}
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	}
	return out, nil
}

// remote makes the calls to etcd. While etcd is away a call fails at once with errAway
// (link.ready). Reads and grants of leases are repeated if the connection breaks; writes and
// compactions are not.
type remote struct {
	link  *link
	kv    pb.KVClient
	lease pb.LeaseClient
}

// callOptions leave the limits on the size of messages to the server. gRPC's own limits are below
// the size of a page of large objects.
var callOptions = []grpc.CallOption{grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(math.MaxInt32)}

// Range is a range of etcd.
func (r remote) Range(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	return repeat(ctx, r.link, func() (*pb.RangeResponse, error) { return r.kv.Range(ctx, req, callOptions...) })
}

// Txn is a transaction of etcd.
func (r remote) Txn(ctx context.Context, req *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := r.link.ready(ctx); err != nil {
		return nil, err
	}
	return r.kv.Txn(ctx, req, callOptions...)
}

// Compact is a compaction of etcd.
func (r remote) Compact(ctx context.Context, req *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := r.link.ready(ctx); err != nil {
		return nil, err
	}
	return r.kv.Compact(ctx, req, callOptions...)
}

// LeaseGrant grants a lease of etcd.
func (r remote) LeaseGrant(ctx context.Context, req *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return repeat(ctx, r.link, func() (*pb.LeaseGrantResponse,
		error) {
		return r.lease.LeaseGrant(ctx, req, callOptions...)
	})
}

// repeatFor is how long a failing call is repeated. It is long enough for a cluster to elect
// another leader.
const repeatFor = 3 * time.Second

// repeat calls call again while it fails with Unavailable, because the connection broke or etcd has
// no leader. call must change nothing, or nothing that matters.
func repeat[T any](ctx context.Context, l *link, call func() (T, error)) (resp T, err error) {
	var failed time.Time
	for {
		if err := l.ready(ctx); err != nil {
			return resp, err
		}
		if resp, err = call(); status.Code(err) != codes.Unavailable {
			return resp, err
		}
		if failed.IsZero() {
			failed = time.Now()
		} else if time.Since(failed) > repeatFor {
			return resp, err
		}
		if storage.Sleep(ctx, retryFirst) != nil {
			return resp, err
		}
	}
}
