package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/server/backing"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/embedded"
	"github.com/coracle-project/coracle/storage/etcd"
	"github.com/coracle-project/coracle/storage/file"
	"github.com/coracle-project/coracle/storage/memory"
)

// newStore makes the store that the configuration describes, which is not open yet. accept judges
// files that are found in a store of files; nil takes them as they are.
func (c *completed) newStore(t *generic.Table, m *backing.Metrics, e *backing.Encryption, accept acceptor) *backing.Store {
	cfg := backing.Config{Keys: t, Metrics: m, Encryption: e}
	cfg.Place = c.place(c.Storage, accept)
	for _, other := range c.Storage.others() {
		place := c.place(other.StorageConfig, accept)
		place.Keeps = other.keeps
		cfg.Others = append(cfg.Others, place)
	}
	return backing.New(cfg)
}

// place is where a StorageConfig has objects stored.
func (c *completed) place(storing StorageConfig, accept acceptor) backing.Place {
	p := backing.Place{Engine: storing.Store, Open: func(ctx context.Context) (storage.Store, error) {
		store, err := c.openEngine(ctx, &storing, accept)
		if err != nil {
			return nil, fmt.Errorf("server: open the %s store: %w", storing.Engine, err)
		}
		return store, nil
	}}
	if in := c.standIn; in != nil && storing.Engine == StorageEmbedded {
		p.Answers = func(ctx context.Context) error { return in.Answers(ctx, in.url) }
	}
	return p
}

func (c *completed) openEngine(ctx context.Context, storing *StorageConfig, accept acceptor) (storage.Store, error) {
	switch storing.Engine {
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
		e := storing.Etcd
		return etcd.Open(ctx, etcd.Config{
			Endpoints: e.Servers, CAFile: e.CAFile, CertFile: e.CertFile, KeyFile: e.KeyFile, Logger: c.Log,
			OpenTimeout: storing.InitTimeout,
		})
	default:
		cfg := embedded.Config{Dir: c.path("etcd"), Logger: warnings(c.Log)}
		if c.standIn != nil {
			cfg.Dir, cfg.NoSync = c.standIn.Dir, c.standIn.NoSync
		}
		return embedded.Open(ctx, cfg)
	}
}

// warnings returns log without what is below a warning: an etcd server has much to say.
func warnings(log *zap.Logger) *zap.Logger {
	if !log.Core().Enabled(zap.InfoLevel) {
		return log // it is that quiet already
	}
	return log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))
}

// compatible returns the minor release that a StorageConfig names.
func (c *StorageConfig) compatible() (minor int, err error) {
	number, of1 := strings.CutPrefix(c.MinCompatibility, "1.")
	minor, err = strconv.Atoi(number)
	if !of1 || err != nil || minor < generic.OldestCompatible || minor > generic.NewestCompatible {
		return 0, fmt.Errorf("minimum compatibility version %q is not between 1.%d and 1.%d", c.MinCompatibility, generic.OldestCompatible, generic.NewestCompatible)
	}
	return minor, nil
}
