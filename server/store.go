package server

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// openStore opens the configured engine, measured, and with encryption if that is configured. What belongs to a key,
// keys says, which learns of the resources later.
func openStore(ctx context.Context, cfg *Config, keys *keyspace) (storage.Store, error) {
	store := cfg.Store
	if store == nil {
		var err error
		if store, err = openEngine(ctx, cfg); err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", cfg.Storage, err)
		}
	}
	keys.engine = store
	store = &meteredStore{Store: store, keys: keys}
	if cfg.EncryptionConfigFile == "" {
		return store, nil
	}
	data, err := os.ReadFile(cfg.EncryptionConfigFile)
	if err == nil {
		keys.encryption, err = encryption.Parse(data)
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("server: %s: %w", cfg.EncryptionConfigFile, err)
	}
	return encryption.Wrap(store, func(key string) encryption.Chain { return keys.of(key).chain }), nil
}

func openEngine(ctx context.Context, cfg *Config) (storage.Store, error) {
	switch cfg.Storage {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: cfg.path("objects")})
	case StorageEtcd:
		return etcd.Open(ctx, etcd.Config{
			Endpoints: cfg.EtcdServers, CAFile: cfg.EtcdCAFile, CertFile: cfg.EtcdCertFile, KeyFile: cfg.EtcdKeyFile,
			Logger: warnings(cfg.Log),
		})
	default:
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
		return embedded.Open(ctx, embedded.Config{
			Dir: cfg.path("etcd"), Logger: warnings(cfg.Log),
		})
	}
}

// warnings returns log without what is below a warning: etcd has much to say.
func warnings(log *zap.Logger) *zap.Logger {
	if !log.Core().Enabled(zap.InfoLevel) {
		return log // it is that quiet already
	}
	return log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
}
