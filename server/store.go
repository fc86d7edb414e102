package server

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/encryption"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// openStore opens the configured engine. If encryption is configured, values pass through it; which ones, c.chains
// says, which learns of the resources later.
func openStore(ctx context.Context, cfg *Config, c *chains) (storage.Store, error) {
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
	data, err := os.ReadFile(cfg.EncryptionConfigFile)
	if err == nil {
		c.config, err = encryption.Parse(data)
	}
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("server: %s: %w", cfg.EncryptionConfigFile, err)
	}
	return encryption.Wrap(store, c.of), nil
}

// chains knows how the keys of each resource are encrypted. Resources are added before the first key is read or
// written.
type chains struct {
	config *encryption.Config // nil: nothing is encrypted
	list   []prefixChain
}

type prefixChain struct {
	prefix string
	chain  encryption.Chain
}

// add tells under which prefix a resource is stored.
func (c *chains) add(gr meta.GroupResource, prefix string) {
	if c.config == nil {
		return
	}
	if chain := c.config.For(gr.Group, gr.Resource); len(chain) > 0 {
		c.list = append(c.list, prefixChain{prefix, chain})
	}
}

// of returns the chain of a key; an empty one stores plain text.
func (c *chains) of(key string) encryption.Chain {
	for i := range c.list {
		if strings.HasPrefix(key, c.list[i].prefix) {
			return c.list[i].chain
		}
	}
	return nil
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
