package server

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
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
	engine     storage.Store      // as opened, without what is wrapped around it; nil before
	metered    *meteredStore      // over engine
	encryption *encryption.Config // nil: nothing is encrypted
	store      storage.Store      // measured, and encrypted if that is configured
	cache      *cache.Cache
	leases     *storage.Leases
	registry   *registry.Config // of the stores of its resources
}

// newBackend makes a backend whose resources can be declared. Nothing can be read or written before open. What belongs to a
// key, the table says.
func (s *Server) newBackend() (*backend, error) {
	b := &backend{engine: s.cfg.Store, metered: &meteredStore{table: s.table, metrics: s.metrics.store}}
	b.store = b.metered
	var err error
	if b.encryption, err = readEncryption(s.cfg.EncryptionConfigFile); b.encryption != nil {
		b.store = encryption.Wrap(b.store, s.table.chainOf)
	}
	return b, err
}

// open opens the configured engine, until ctx ends.
func (b *backend) open(ctx context.Context, s *Server) (err error) {
	if b.engine == nil {
		if b.engine, err = s.openEngine(ctx); err != nil {
			b.engine = nil
			return fmt.Errorf("server: open the %s store: %w", s.cfg.Storage, err)
		}
	}
	b.metered.Store = b.engine
	return nil
}

// serve gives the backend what resources need of it.
func (b *backend) serve(s *Server) {
	prefix := s.cfg.EtcdPrefix + "/"
	b.leases = storage.NewLeases(b.store, nil)
	b.cache = cache.New(b.store, cache.Config{Prefix: prefix, Hooks: s.cacheHooks()})
	b.registry = &registry.Config{
		Kinds: kind.NewTypes(s.Scheme, s.Codecs), Codecs: s.Codecs, Cache: b.cache, Leases: b.leases, Prefix: prefix, Protobuf: s.cfg.StorageProtobuf,
		Unreadable: s.metrics.unreadable.found,
	}
}

// close closes cache and engine, as far as they are there.
func (b *backend) close() error {
	if b == nil {
		return nil
	}
	if b.cache != nil {
		b.cache.Close()
	}
	if b.engine == nil {
		return nil
	}
	return b.engine.Close()
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

func (s *Server) openEngine(ctx context.Context) (storage.Store, error) {
	cfg := &s.cfg
	switch cfg.Storage {
	case StorageMemory:
		return memory.New(memory.Config{}), nil
	case StorageFile:
		return file.Open(file.Config{Dir: cfg.path("objects"), Accept: s.acceptFile, Failed: func(path string, err error) {
			if err == nil {
				cfg.Log.Info("a file of the store that was refused is all right again, or gone", zap.String("path", path))
				return
			}
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

// acceptFile judges what is found in a file of the store by what the resource that it belongs to is declared as. Files of
// resources that are not there, and what is encrypted, are taken as they are.
func (s *Server) acceptFile(f file.Found) ([]byte, file.Birth, error) {
	<-s.declared
	e := s.table.ofKey(f.Key)
	if e == nil || encryption.Encrypted(f.Value) {
		return f.Value, file.Birth{}, nil
	}
	if _, _, err := e.chain.Decrypt(f.Key, f.Value); err != nil { // nobody could read it
		return nil, file.Birth{}, err
	}
	old, _, _ := e.chain.Decrypt(f.Key, f.Old)
	if f.Birth == (file.Birth{}) {
		f.Birth.At = f.Modified
	}
	since := meta.NewTime(f.Birth.At)
	value, id, err := e.store.Handmade(f.Key, f.Value, old, registry.Identity{UID: meta.UID(f.Birth.ID), Created: &since})
	if err != nil || id == (registry.Identity{}) {
		return value, file.Birth{}, err
	}
	return value, file.Birth{ID: string(id.UID), At: id.Created.Time}, nil
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
