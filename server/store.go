package server

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// opened is a store as the configuration wants it, before anybody uses it.
type opened struct {
	engine        storage.Store      // without what is wrapped around it
	encryption    *encryption.Config // nil: nothing is encrypted
	storage.Store                    // measured, and encrypted if that is configured
}

// openStore opens the configured engine, until ctx ends. What belongs to a key, the table says.
func openStore(ctx context.Context, c completed, t *table, m *storeMetrics) (*opened, error) {
	o := &opened{engine: c.Storage.Store}
	var err error
	if o.engine == nil {
		if o.engine, err = openEngine(ctx, c); err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", c.Storage.Engine, err)
		}
	}
	if o.encryption, err = readEncryption(c.Storage.EncryptionConfigFile); err != nil {
		return nil, errors.Join(err, o.engine.Close())
	}
	o.Store = &meteredStore{Store: o.engine, table: t, metrics: m}
	if o.encryption != nil {
		o.Store = encryption.Wrap(o.Store, t.chainOf)
	}
	return o, nil
}

// backend is a store with what belongs to it. A resource lives in one backend: that decides its cache, and the clock
// that its revisions come from.
type backend struct {
	*opened
	cache    *cache.Cache
	registry *registry.Config // of the stores of its resources
}

// newBackend gives a store what resources need of it: cfg says the rest about them.
func newBackend(o *opened, cfg registry.Config, log *zap.Logger) *backend {
	cfg.Cache = cache.New(o, cache.Config{Prefix: cfg.Prefix, Hooks: cacheHooks(log)})
	cfg.Leases = storage.NewLeases(o, nil)
	return &backend{opened: o, cache: cfg.Cache, registry: &cfg}
}

// Close closes cache and store.
func (b *backend) Close() error {
	b.cache.Close()
	return b.opened.Close()
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

func openEngine(ctx context.Context, c completed) (storage.Store, error) {
	switch c.Storage.Engine {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: c.path("objects"), Failed: func(path string, err error) {
			c.Log.Warn("a file of the store cannot be read or written", zap.String("path", path), zap.Error(err))
		}})
	case StorageEtcd:
		e := c.Storage.Etcd
		return etcd.Open(ctx, etcd.Config{
			Endpoints: e.Servers, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Logger: c.Log,
		})
	default:
		return embedded.Open(ctx, embedded.Config{
			Dir: c.path("etcd"), Logger: warnings(c.Log),
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
