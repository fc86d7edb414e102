package backing

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/encryption"
)

// Location is an engine, and the resources that it keeps.
type Location struct {
	// Engine is the engine, if it is open already.
	Engine storage.Store
	// Open opens the engine if Engine is nil. ctx bounds the opening, not the engine.
	Open func(ctx context.Context) (storage.Store, error)
	// CheckStandIn returns an error unless the stand-in (storage/standin), the process that runs in
	// etcd's place, answers; nil if there is none.
	CheckStandIn func(ctx context.Context) error
	// Remote says that each question to the engine is a round trip, if only for the revision.
	Remote bool
	// Keeps are the resources that this Location keeps. The main Location keeps all others.
	Keeps []meta.GroupResource
}

// Config is what New takes. The embedded Location is the main one.
type Config struct {
	Location
	// Others are the Locations that keep single resources.
	Others []Location

	Keys    Keys
	Metrics *Metrics
	// Encryption encrypts values; nil stores plain text.
	Encryption *Encryption
}

// Store is an engine with the wrappers of this package: metered directly over the engine, and
// encryption over that. It may be passed on before it is open.
type Store struct {
	storage.Store // the outermost wrapper

	// Others are the stores of Config.Others. They open and close with this one.
	Others []*Store

	cfg     Config
	metered *metered    // over the engine, which is nil until it is open
	opened  atomic.Bool // Open has returned without an error
}

// New makes a store that is not open yet.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, metered: &metered{
		Store: cfg.Engine, remote: cfg.Remote, keys: cfg.Keys, metrics: cfg.Metrics,
	}}
	s.Store = s.metered
	if cfg.Encryption != nil {
		s.Store = encryption.Wrap(s.Store, func(key string) encryption.Chain {
			if r := cfg.Keys.RecordOf(key); r != nil {
				return r.Chain()
			}
			return nil
		})
	}
	for _, location := range cfg.Others {
		other := cfg
		other.Location, other.Others = location, nil
		s.Others = append(s.Others, New(other))
	}
	return s
}

// Open opens all engines concurrently. ctx bounds the opening. After an error Close closes those
// that are open.
func (s *Store) Open(ctx context.Context) error {
	errs := make([]error, len(s.Others))
	var opening sync.WaitGroup
	for i, other := range s.Others {
		opening.Go(func() { errs[i] = other.Open(ctx) })
	}
	var err error
	if s.metered.Store == nil {
		s.metered.Store, err = s.cfg.Open(ctx)
	}
	opening.Wait()
	err = errors.Join(err, errors.Join(errs...))
	s.opened.Store(err == nil)
	return err
}

// Reviewer returns the store as a storage.Reviewer if its objects are files that people may edit,
// and nil otherwise, or before Open has returned.
func (s *Store) Reviewer() storage.Reviewer {
	if !s.opened.Load() {
		return nil
	}
	r, _ := storage.As[storage.Reviewer](s)
	return r
}

// Unwrap implements storage.Wrapper. It must not be called while the store opens.
func (s *Store) Unwrap() storage.Store { return s.Store }

// CheckHealth returns an error unless the engine answers and, if there is one, the stand-in. Health
// checks call it.
func (s *Store) CheckHealth(ctx context.Context) error {
	if s.cfg.CheckStandIn != nil {
		if err := s.cfg.CheckStandIn(ctx); err != nil {
			return err
		}
	}
	_, err := s.Revision(ctx)
	return err
}

// Encryption returns the encryption of the values, nil if they are stored as plain text.
func (s *Store) Encryption() *Encryption { return s.cfg.Encryption }

// Close closes the engines that are open, and the connections to KMS plugins. It may be called
// again.
func (s *Store) Close() error {
	s.cfg.Encryption.close()
	var errs []error
	for _, other := range s.Others {
		errs = append(errs, other.Close())
	}
	if s.metered.Store != nil {
		errs = append(errs, s.Store.Close())
	}
	return errors.Join(errs...)
}

// Backend is a Store with its cache. The objects of a resource are all in one backend, and have
// revisions of its store.
type Backend struct {
	*Store
	Cache    *cache.Cache
	Registry *registry.Config // configures the stores of its resources
}

// Backends are the main backend, which is the first, and those that keep single resources.
type Backends []*Backend

// NewBackends makes the backends of s and its Others. cfg is the configuration that all resources
// share; each backend gets a copy with its own cache and leases. If encryption may change, caches
// read again the objects that could not be decrypted.
func NewBackends(s *Store, cfg registry.Config, unreadable *Unreadables, log *zap.Logger) Backends {
	all := Backends{newBackend(s, cfg, unreadable, log)}
	for _, other := range s.Others {
		all = append(all, newBackend(other, cfg, unreadable, log))
	}
	return all
}

// newBackend makes the backend of one store.
func newBackend(s *Store, cfg registry.Config, unreadable *Unreadables, log *zap.Logger) *Backend {
	cfg.Cache = cache.New(s, cache.Config{Prefix: cfg.Prefix, Hooks: cacheHooks(unreadable, log)})
	if s.cfg.Encryption.changes() {
		cfg.Cache.RereadUnreadable()
	}
	cfg.Leases = storage.NewLeases(s, nil)
	cfg.Unreadable = unreadable.Found
	return &Backend{Store: s, Cache: cfg.Cache, Registry: &cfg}
}

// Main returns the backend of all resources that no other backend keeps.
func (b Backends) Main() *Backend { return b[0] }

// BackendOf returns the backend in which a resource lives.
func (b Backends) BackendOf(gr meta.GroupResource) *Backend {
	for _, other := range b[1:] {
		if slices.Contains(other.cfg.Keeps, gr) {
			return other
		}
	}
	return b.Main()
}

// CloseCaches closes the caches of all backends, and with them every watch.
func (b Backends) CloseCaches() {
	for _, one := range b {
		one.Cache.Close()
	}
}

// cacheHooks returns hooks that log the events of a cache, and report objects that cannot be
// decoded.
func cacheHooks(unreadable *Unreadables, log *zap.Logger) cache.Hooks {
	log = log.Named("cache")
	return cache.Hooks{
		Loaded: func(resource string, objects int, took time.Duration) {
			log.Debug("loaded a resource into the cache", zap.String("resource", resource), zap.Int("objects", objects),
				zap.Duration("took", took))
		},
		LoadFailed: func(resource string, err error) {
			log.Log(Severity(err), "cannot load a resource into the cache; trying again",
				zap.String("resource", resource), zap.Error(err))
		},
		WatchFailed: func(err error) {
			log.Log(Severity(err), "the watch on the store ended; watching again", zap.Error(err))
		},
		DecodeFailed: func(_ string, err *storage.Error) { unreadable.Found(err) },
		Evicted: func(resource string) {
			log.Info("a watcher fell behind and was ended", zap.String("resource", resource))
		},
		Waited: func(ctx context.Context, took time.Duration) {
			request.Took(ctx, request.SpanOther, "wait for the cache", "", took)
		},
	}
}

// Severity returns the level for logging the failure of work that is repeated. A store that cannot
// be reached, and an object that cannot be read, are logged once elsewhere, so their errors have
// the level debug.
func Severity(err error) zapcore.Level {
	if storage.KindOf(err) == storage.Unavailable || meta.IsUnreadable(err) {
		return zap.DebugLevel
	}
	return zap.WarnLevel
}
