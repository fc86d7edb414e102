package server

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// openStore opens the configured engine and wraps it in encryption if that is configured.
func openStore(ctx context.Context, cfg *Config) (storage.Store, error) {
	store := cfg.Store
	if store == nil {
		var err error
		if store, err = openEngine(ctx, cfg); err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", cfg.Storage, err)
		}
	}
	if cfg.EncryptionConfigFile == "" {
		return store, nil
	}
	wrapped, err := encrypt(store, cfg)
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("server: %w", err)
	}
	return wrapped, nil
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
			Logger: cfg.Log.WithOptions(zap.IncreaseLevel(zap.WarnLevel)),
		})
	default:
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, err
		}
		return embedded.Open(ctx, embedded.Config{
			Dir: cfg.path("etcd"), Logger: cfg.Log.WithOptions(zap.IncreaseLevel(zap.WarnLevel)),
		})
	}
}

func encrypt(store storage.Store, cfg *Config) (storage.Store, error) {
	return store, nil
}
