package server

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// backend is a store with what belongs to it. A resource lives in one backend: that decides its cache, and the clock
// that its revisions come from.
type backend struct {
	engine     storage.Store      // as opened, without what is wrapped around it
	encryption *encryption.Config // nil: nothing is encrypted
	store      storage.Store      // measured, and encrypted if that is configured
	cache      *cache.Cache
	leases     *storage.Leases
	registry   *registry.Config // of the stores of its resources
}

// openBackend opens the configured engine, until ctx ends. What belongs to a key, the table says.
func (s *Server) openBackend(ctx context.Context) (*backend, error) {
	b := &backend{engine: s.cfg.Store}
	var err error
	if b.engine == nil {
		if b.engine, err = openEngine(ctx, &s.cfg); err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", s.cfg.Storage, err)
		}
	}
	b.store = &meteredStore{Store: b.engine, table: s.table, metrics: s.metrics.store}
	if b.encryption, err = readEncryption(s.cfg.EncryptionConfigFile); err != nil {
		b.store.Close()
		return nil, err
	}
	if b.encryption != nil {
		b.store = encryption.Wrap(b.store, s.table.chainOf)
	}
	return b, nil
}

// serve gives the backend what resources need of it.
func (b *backend) serve(s *Server) {
	prefix := s.cfg.EtcdPrefix + "/"
	b.leases = storage.NewLeases(b.store, nil)
	b.cache = cache.New(b.store, cache.Config{Prefix: prefix, Hooks: s.cacheHooks()})
	b.registry = &registry.Config{
		Kinds: kind.NewTypes(s.Scheme, s.Codecs), Codecs: s.Codecs, Cache: b.cache, Leases: b.leases, Prefix: prefix, Protobuf: s.cfg.StorageProtobuf,
	}
}

// close closes cache and store. A nil backend was not opened.
func (b *backend) close() error {
	if b == nil {
		return nil
	}
	if b.cache != nil {
		b.cache.Close()
	}
	return b.store.Close()
}

// readEncryption reads an EncryptionConfiguration; nil for no file.
func readEncryption(file string) (*encryption.Config, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", file, err)
	}
	cfg, err := encryption.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("server: %s: %w", file, err)
	}
	return cfg, nil
}

func openEngine(ctx context.Context, cfg *Config) (storage.Store, error) {
	switch cfg.Storage {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: cfg.path("objects"), Failed: func(path string, err error) {
			cfg.Log.Warn("a file of the store cannot be read or written", zap.String("path", path), zap.Error(err))
		}})
	case StorageEtcd:
		return etcd.Open(ctx, etcd.Config{
			Endpoints: cfg.EtcdServers, CAFile: cfg.EtcdCAFile, CertFile: cfg.EtcdCertFile, KeyFile: cfg.EtcdKeyFile,
			Logger: cfg.Log,
		})
	default:
		return embedded.Open(ctx, embedded.Config{
			Dir: cfg.path("etcd"), Logger: warnings(cfg.Log),
		})
	}
}

// severity is the level at which to log the failure of something that is done again and again. While a store cannot be
// reached it says so itself, once.
func severity(err error) zapcore.Level {
	if storage.KindOf(err) == storage.Unavailable {
		return zap.DebugLevel
	}
	return zap.WarnLevel
}

// warnings returns log without what is below a warning: an etcd server has much to say.
func warnings(log *zap.Logger) *zap.Logger {
	if !log.Core().Enabled(zap.InfoLevel) {
		return log // it is that quiet already
	}
	return log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
}
