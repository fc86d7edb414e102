package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Config is what all stores of a server share.
type Config struct {
	Scheme *scheme.Scheme
	Codecs *codec.Factory
	Cache  *cache.Cache
	// Leases grants the leases of objects with a TTL.
	Leases Leaser
	// Admission is asked about every write.
	Admission admission.Chain
	// Prefix is where all resources are stored; "" means "/registry/". It ends in "/".
	Prefix string
	// Protobuf stores built-in kinds as protobuf instead of JSON. Both are always readable.
	Protobuf bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Leaser grants leases for objects with a TTL; storage.Leases does.
type Leaser interface {
	Get(ctx context.Context, ttl time.Duration) (storage.LeaseID, error)
	// Forget is told of a lease that the store does not know.
	Forget(id storage.LeaseID)
}

// Store serves one resource, or one subresource of it, over the cache.
type Store struct {
	cfg *Config
	res Resource
	// subresource is "" for the resource itself.
	subresource string
	strategy    *Strategy
	root        string // key prefix, ends in "/"
	storageGVK  meta.GroupVersionKind
	objects     *cache.Resource
	reader      *reader
}

// New makes the Store of a resource. The kind must be registered in the scheme, and the group be a domain or one of
// Kubernetes' own.
func New(cfg *Config, res Resource) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	prefix := cfg.Prefix
	if prefix == "" {
		prefix = "/registry/"
	}
	if err := checkGroup(res.GroupResource.Group); err != nil {
		return nil, err
	}
	if res.StorageVersion == "" {
		gk := meta.GroupKind{Group: res.GroupResource.Group, Kind: res.Kind}
		version, ok := preferred(cfg.Scheme, gk)
		if !ok {
			return nil, fmt.Errorf("registry: the kind %s of %s is not registered", gk, res.GroupResource)
		}
		res.StorageVersion = version
	}
	if res.Strategy.ValidateName == nil {
		res.Strategy.ValidateName = names.DNSSubdomainName
	}
	s := &Store{
		cfg:        cfg,
		res:        res,
		root:       prefix + keyPrefix(res.GroupResource) + "/",
		storageGVK: meta.GroupVersionKind{Group: res.GroupResource.Group, Version: res.StorageVersion, Kind: res.Kind},
	}
	s.strategy = &s.res.Strategy
	if !cfg.Scheme.Recognizes(s.storageGVK) {
		return nil, fmt.Errorf("registry: %v is not registered", s.storageGVK)
	}
	if obj := s.New(); res.fits != nil && !res.fits(obj) {
		return nil, fmt.Errorf("registry: %s is declared for another type than %T, the hub of %s", res.GroupResource, obj, res.Kind)
	}
	s.reader = newReader(cfg, s.storageGVK, s.root, res.Fields)
	s.objects = cfg.Cache.Resource(cache.ResourceConfig{
		Name:   res.GroupResource.String(),
		Prefix: s.root,
		Decode: s.reader.decode,
	})
	return s, nil
}

// preferred returns the most preferred version in which a kind is registered.
func preferred(s *scheme.Scheme, gk meta.GroupKind) (version string, ok bool) {
	for _, gv := range s.VersionsOf(gk.Group) {
		if s.Recognizes(gv.WithKind(gk.Kind)) {
			return gv.Version, true
		}
	}
	return "", false
}

// Subresource returns the Store of a declared subresource, which shares the objects, or nil if there is none of that
// name.
func (s *Store) Subresource(name string) *Store {
	for i := range s.res.Subresources {
		if s.res.Subresources[i].Name == name {
			sub := *s
			sub.subresource, sub.strategy = name, &s.res.Subresources[i].Strategy
			return &sub
		}
	}
	return nil
}

// Resource returns the declaration of the store.
func (s *Store) Resource() *Resource { return &s.res }

// StorageVersion is the version that JSON of the objects is in.
func (s *Store) StorageVersion() meta.GroupVersion { return s.storageGVK.GroupVersion() }

// Objects is the cached state, for controllers and debug pages.
func (s *Store) Objects() *cache.Resource { return s.objects }

// New returns an empty object of the hub version.
func (s *Store) New() meta.Object {
	hub, _ := s.cfg.Scheme.HubKind(s.storageGVK.GroupKind())
	obj, err := s.cfg.Scheme.NewObject(hub)
	if err != nil { // New has checked that the kind is registered
		panic(err)
	}
	return obj.(meta.Object)
}

// Get returns one object. See router.Getter.
func (s *Store) Get(ctx context.Context, namespace, name, resourceVersion string) (request.Encoded, error) {
	key, err := s.key(namespace, name)
	if err != nil {
		return nil, err
	}
	want := cache.Want{Match: cache.Consistent}
	switch resourceVersion {
	case "":
	case "0":
		want.Match = cache.Any
	default:
		if want.Rev, err = parseRevision(resourceVersion); err != nil {
			return nil, badRevision(resourceVersion, err)
		}
		want.Match = cache.NotOlderThan
	}
	obj, err := s.objects.Get(ctx, key, want)
	if err != nil {
		return nil, s.readError(err, name, want.Rev)
	}
	return obj, nil
}

// readError is apiError with the answer for revisions in the future.
func (s *Store) readError(err error, name string, want storage.Revision) error {
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Kind == storage.Future {
		return meta.NewTooLargeResourceVersion(uint64(want), uint64(e.Rev), 1)
	}
	return s.apiError(err, name)
}

// Decode returns the object behind enc in the hub version. The caller owns it.
func (s *Store) Decode(enc request.Encoded) (meta.Object, error) {
	return s.reader.object(enc.JSON())
}

// now is the time that this request's writes carry.
func (s *Store) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Second) }

// strategyRequest gathers what strategies may know.
func (s *Store) strategyRequest(ctx context.Context, namespace string, dryRun []string) *Request {
	r := &Request{Now: s.now(), Namespace: namespace, DryRun: len(dryRun) > 0}
	if info := request.From(ctx); info != nil {
		r.User = info.User
	}
	return r
}
