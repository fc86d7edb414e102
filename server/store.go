package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// configured is a store as the configuration wants it. Others may be made that use it before it is open.
type configured struct {
	metered       *meteredStore // over the engine, which is nil until it is open
	encryptor     *encryptor    // nil: nothing is encrypted
	standIn       *standIn      // nil if nothing stands before it
	storage.Store               // metered, and encrypted if that is configured

	config StorageConfig
	others []*configured        // of overrides
	keeps  []meta.GroupResource // of an override
}

// newStore makes a store that is not open yet. What belongs to a key, the table says.
func newStore(c StorageConfig, t *table, m *storeMetrics, e *encryptor) *configured {
	s := &configured{metered: &meteredStore{Store: c.Store, table: t, metrics: m}, encryptor: e, config: c}
	s.Store = s.metered
	if e != nil {
		s.Store = encryption.Wrap(s.Store, t.chainOf)
	}
	return s
}

// open opens the engine, until ctx ends.
func (s *configured) open(ctx context.Context, c completed, accept acceptor) error {
	errs := make([]error, len(s.others))
	var opening sync.WaitGroup
	for i, other := range s.others {
		opening.Go(func() { errs[i] = other.open(ctx, c, accept) })
	}
	defer opening.Wait()
	if s.metered.Store == nil {
		own := c
		own.Storage = s.config
		engine, err := openEngine(ctx, own, accept)
		if err != nil {
			return fmt.Errorf("server: open the %s store: %w", s.config.Engine, err)
		}
		s.metered.Store, s.standIn = engine, c.standIn
	}
	opening.Wait()
	return errors.Join(errs...)
}

// Unwrap implements storage.Wrapper.
func (s *configured) Unwrap() storage.Store { return s.Store }

// Close closes the engine, if it is open.
func (s *configured) Close() error {
	s.encryptor.close()
	var errs []error
	for _, other := range s.others {
		errs = append(errs, other.Close())
	}
	if s.metered.Store != nil {
		errs = append(errs, s.Store.Close())
	}
	return errors.Join(errs...)
}

// backend is a store with what belongs to it. A resource lives in one backend: that decides its cache, and the clock
// that its revisions come from.
type backend struct {
	*configured
	cache    *cache.Cache
	registry *registry.Config // of the stores of its resources
}

// newBackend gives a store what resources need of it: cfg says the rest about them.
func newBackend(s *configured, cfg registry.Config, unreadable *unreadables, log *zap.Logger) *backend {
	cfg.Cache = cache.New(s, cache.Config{Prefix: cfg.Prefix, Hooks: cacheHooks(unreadable, log)})
	if s.encryptor.changes() {
		cfg.Cache.Reread()
	}
	cfg.Leases = storage.NewLeases(s, nil)
	cfg.Unreadable = unreadable.found
	return &backend{configured: s, cache: cfg.Cache, registry: &cfg}
}

func openEngine(ctx context.Context, c completed, accept acceptor) (storage.Store, error) {
	switch c.Storage.Engine {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: c.path("objects"), Accept: accept, Failed: func(path string, err error) {
			if err == nil {
				c.Log.Info("a file of the store that was refused is all right again, or gone", zap.String("path", path))
				return
			}
			c.Log.Warn("a file of the store cannot be read or written", zap.String("path", path), zap.Error(err))
		}})
	case StorageEtcd:
		e := c.Storage.Etcd
		return etcd.Open(ctx, etcd.Config{
			Endpoints: e.Servers, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Logger: c.Log,
			OpenTimeout: c.Storage.InitTimeout,
		})
	default:
		cfg := embedded.Config{Dir: c.path("etcd"), Logger: warnings(c.Log)}
		if c.standIn != nil {
			cfg.Dir, cfg.NoSync = c.standIn.Dir, c.standIn.NoSync
		}
		return embedded.Open(ctx, cfg)
	}
}

// severity is the level at which to log the failure of something that is done again and again. While a store cannot be
// reached it says so itself, once, and so it is with an object that cannot be read.
func severity(err error) zapcore.Level {
	if storage.KindOf(err) == storage.Unavailable || meta.IsUnreadable(err) {
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
