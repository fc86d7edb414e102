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
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
	"github.com/coracle-project/coracle/storage/encryption"
)

// Place is where something is stored.
type Place struct {
	// Engine is the store there, if it is open already.
	Engine storage.Store
	// Open opens the store there, if there is no Engine, until ctx ends.
	Open func(ctx context.Context) (storage.Store, error)
	// Answers returns an error unless what stands in front of the store answers; nil: nothing
	// stands there.
	Answers func(ctx context.Context) error
	// Keeps are the resources that live here. The main place has all others.
	Keeps []meta.GroupResource
}

// Config is what a Store is made of.
type Config struct {
	Place
	// Others keep single resources.
	Others []Place

	Keys    Keys
	Metrics *Metrics
	// Encryption says how values are encrypted; nil: not at all.
	Encryption *Encryption
}

// Store is a store as the configuration wants it: its operations are measured, and its values are
// encrypted. It may be given to others before it is open.
type Store struct {
	storage.Store // metered, and encrypted if that is configured

	// Others are the stores that keep single resources. They open and close with this one.
	Others []*Store

	cfg     Config
	metered *metered    // over the engine, which is nil until it is open
	opened  atomic.Bool // Open has returned without an error
}

// New makes a store that is not open yet.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, metered: &metered{Store: cfg.Engine, keys: cfg.Keys, metrics: cfg.Metrics}}
	s.Store = s.metered
	if cfg.Encryption != nil {
		s.Store = encryption.Wrap(s.Store, func(key string) encryption.Chain {
			if r := cfg.Keys.Of(key); r != nil {
				return r.Chain()
			}
			return nil
		})
	}
	for _, place := range cfg.Others {
		other := cfg
		other.Place, other.Others = place, nil
		s.Others = append(s.Others, New(other))
	}
	return s
}

// Open opens the engines, until ctx ends.
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

// Reviewer is the store if others write its files, too; nil if they do not, or until Open has
// returned.
func (s *Store) Reviewer() storage.Reviewer {
	if !s.opened.Load() {
		return nil
	}
	r, _ := storage.As[storage.Reviewer](s)
	return r
}

// Unwrap implements storage.Wrapper. It must not be called while the store opens.
func (s *Store) Unwrap() storage.Store { return s.Store }

// Answers returns an error unless the store answers, and what stands in front of it.
func (s *Store) Answers(ctx context.Context) error {
	if s.cfg.Answers != nil {
		if err := s.cfg.Answers(ctx); err != nil {
			return err
		}
	}
	_, err := s.Revision(ctx)
	return err
}

// Encryption is how the values are encrypted; nil: not at all.
func (s *Store) Encryption() *Encryption { return s.cfg.Encryption }

// Close closes the engines that are open, and the plugins that encrypt. It may be called again.
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

// Backend is a store with what belongs to it. A resource lives in one backend: that decides its
// cache, and the clock that its revisions come from.
type Backend struct {
	*Store
	Cache    *cache.Cache
	Registry *registry.Config // of the stores of its resources
}

// Backends are the main backend, which comes first, and those that keep single resources.
type Backends []*Backend

// NewBackends gives a store and its Others what resources need of them: cfg says the rest about
// resources.
func NewBackends(s *Store, cfg registry.Config, unreadable *Unreadables, log *zap.Logger) Backends {
	all := Backends{newBackend(s, cfg, unreadable, log)}
	for _, other := range s.Others {
		all = append(all, newBackend(other, cfg, unreadable, log))
	}
	return all
}

func newBackend(s *Store, cfg registry.Config, unreadable *Unreadables, log *zap.Logger) *Backend {
	cfg.Cache = cache.New(s, cache.Config{Prefix: cfg.Prefix, Hooks: cacheHooks(unreadable, log)})
	if s.cfg.Encryption.changes() {
		cfg.Cache.Reread()
	}
	cfg.Leases = storage.NewLeases(s, nil)
	cfg.Unreadable = unreadable.Found
	return &Backend{Store: s, Cache: cfg.Cache, Registry: &cfg}
}

// Main is the backend in which a resource lives unless another keeps it.
func (b Backends) Main() *Backend { return b[0] }

// Home is the backend in which a resource lives.
func (b Backends) Home(gr meta.GroupResource) *Backend {
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

// cacheHooks log what happens to the cache.
func cacheHooks(unreadable *Unreadables, log *zap.Logger) cache.Hooks {
	log = log.Named("cache")
	return cache.Hooks{
		Loaded: func(resource string, objects int, took time.Duration) {
			log.Debug("loaded", zap.String("resource", resource), zap.Int("objects", objects),
				zap.Duration("took", took))
		},
		LoadFailed: func(resource string, err error) {
			log.Log(Severity(err), "load failed", zap.String("resource", resource), zap.Error(err))
		},
		WatchFailed: func(err error) {
			log.Log(Severity(err), "the watch on the store ended; watching again", zap.Error(err))
		},
		DecodeFailed: func(_ string, err *storage.Error) { unreadable.Found(err) },
		Evicted: func(resource string) {
			log.Info("a watcher fell behind and was ended", zap.String("resource", resource))
		},
	}
}

// Severity is the level at which to log the failure of something that is done again and again.
// While a store cannot be reached it says so itself, once, and so it is with an object that cannot
// be read.
func Severity(err error) zapcore.Level {
	if storage.KindOf(err) == storage.Unavailable || meta.IsUnreadable(err) {
		return zap.DebugLevel
	}
	return zap.WarnLevel
}
