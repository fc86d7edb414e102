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
	"google.golang.org/grpc/status"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/storage"
)

// Config says how to reach a cluster.
type Config struct {
	Endpoints []string // host:port or URLs; required
	// CAFile, CertFile and KeyFile are PEM files; with any of them the connection is TLS, as it is with an https
	// endpoint. CertFile is read again for each connection, so that it can be rotated.
	CAFile, CertFile, KeyFile string
	Username, Password        string
	// DialTimeout bounds each connection attempt, default 5 s.
	DialTimeout time.Duration
	// OpenTimeout bounds Open, default DialTimeout.
	OpenTimeout time.Duration
	// Page is the number of entries in one answer of etcd, default 1000.
	Page int64
	// Logger is told when etcd goes and when it is back, and at the debug level what the client library says, default
	// none.
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
		open map[*cursor]struct{}
	}
}

var _ storage.Store = (*Store)(nil)

// Open connects to a cluster and waits until it answers, at most OpenTimeout. ctx bounds only Open.
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

// connect makes the store without waiting for a connection, unless there is a password: then the library gets a token.
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
		Logger:      newMurmur(cfg.Logger),
		// The second try is for a token that has expired. What else is tried again, remote says.
		MaxUnaryRetries: 2,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(l.dial),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: retryFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryLast},
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

// await asks for the revision until there is an answer. It does not go by the link, which would hide why there is none.
func (s *Store) await(ctx context.Context) error {
	kv := s.server.kv
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		_, err := kv.Range(ctx, &pb.RangeRequest{Key: []byte{0}, CountOnly: true}, callOptions...)
		if err == nil || status.Code(err) == codes.Unimplemented { // which is no etcd, and will be none
			return err
		}
		if storage.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// Revision implements storage.Store. It costs a round trip and a quorum.
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

// tls returns nil for a connection in the clear.
func (cfg Config) tls() (*tls.Config, error) {
	if cfg.CAFile == "" && cfg.CertFile == "" && cfg.KeyFile == "" {
		return nil, nil // clientv3 takes the scheme of the endpoints
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

// remote is the etcd behind a connection. While there is none its calls fail at once. The limits on message sizes are
// left to the server: gRPC's own are below what a page of large objects needs.
type remote struct {
	link  *link
	kv    pb.KVClient
	lease pb.LeaseClient
}

var callOptions = []grpc.CallOption{grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.MaxCallRecvMsgSize(math.MaxInt32)}

func (r remote) Range(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	return repeat(ctx, r.link, func() (*pb.RangeResponse, error) { return r.kv.Range(ctx, req, callOptions...) })
}

func (r remote) Txn(ctx context.Context, req *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := r.link.ready(ctx); err != nil {
		return nil, err
	}
	return r.kv.Txn(ctx, req, callOptions...)
}

func (r remote) Compact(ctx context.Context, req *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := r.link.ready(ctx); err != nil {
		return nil, err
	}
	return r.kv.Compact(ctx, req, callOptions...)
}

func (r remote) LeaseGrant(ctx context.Context, req *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return repeat(ctx, r.link, func() (*pb.LeaseGrantResponse, error) { return r.lease.LeaseGrant(ctx, req, callOptions...) })
}

// repeatFor bounds the time in which a call is repeated: long enough for a cluster to find another leader.
const repeatFor = 3 * time.Second

// repeat makes a call that changes nothing, or nothing that matters, again if the connection breaks under it or etcd says
// that it is not available now.
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
