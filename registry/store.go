package registry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/storage"
	"github.com/coracle-project/coracle/storage/cache"
)

// Config is what the stores of a server share that live in one store of bytes.
type Config struct {
	// Kinds are those that declarations name.
	Kinds kind.Finder
	// Codecs encode what belongs to no kind in particular, such as metadata alone.
	Codecs *codec.Factory
	Cache  *cache.Cache
	// Leases grants the leases of objects with a TTL.
	Leases Leaser
	// Admission is asked about every write.
	Admission admission.Chain
	// Prefix is where all resources are stored; "" means "/registry/". It ends in "/".
	Prefix string
	// Protobuf stores the kinds that have that form as protobuf instead of JSON. Both are always
	// readable.
	Protobuf bool
	// DeleteWorkers is how many objects of a collection are deleted at a time, default 1.
	DeleteWorkers int
	// NoGarbageCollection has nobody delete dependents: no finalizers of the garbage collector are
	// set, whatever a deletion asks for.
	NoGarbageCollection bool
	// Unreadable is told of each object that was to be decoded and could not be, if set. What the
	// cache finds out by itself is told to its hooks.
	Unreadable func(err *storage.Error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Leaser grants leases for objects with a TTL; storage.Leases does.
type Leaser interface {
	Get(ctx context.Context, ttl time.Duration) (storage.LeaseID, error)
	// Forget is told of a lease that the store does not know.
	Forget(id storage.LeaseID)
}

// Store serves one resource, or one door of it, over the cache. It never changes: a resource whose
// declaration changes gets another Store over the same objects.
type Store struct {
	cfg     *Config
	res     Resource
	root    string // key prefix, ends in "/"
	objects *cache.Resource
	reader  *reader
	forms   *forms
	doors   map[door]*Store
	groupBy []string // labels of the selectable fields by which watchers are grouped
	// redeclared: there may be objects in the cache that were read by another declaration.
	redeclared bool

	// What this door is. kind is what it shows: the kind stored, the same in another group, or one
	// of its own.
	kind        kind.Kind
	fixed       meta.GroupVersionKind // what a door with a kind of its own shows, whatever the version of the resource
	subresource string                // "" for the resource itself
	strategy    *Strategy
	takeBack    func(obj, old meta.Object)      // nil: the door may set everything
	empty       func(obj meta.Object)           // takes out what a new object may not have; nil: nothing
	differ      func(obj, old meta.Object) bool // whether a change counts as a generation; nil: none does
	project     *Projection
	version     string              // of the resource, the only one that has the door; "": all have it
	reset       []string            // the fields that nobody can own through the door
	resetIn     map[string][]string // or that; by version
	owners      map[string]*owner   // by version

	// batch converts many objects at once; nil: the kind has no converter.
	batch       func(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error)
	conversions *conversions // by batch
}

// Stores finds the Store of a resource as it is at the moment, nil if there is none: for what a
// write changes beside its own object.
type Stores interface {
	Store(gr meta.GroupResource) *Store
}

// New makes the Store of a resource. Its kind must be known, and its group be a domain or one of
// Kubernetes' own.
func New(cfg *Config, res Resource) (*Store, error) {
	if err := checkPlace(res.GroupResource); err != nil {
		return nil, err
	}
	prefix := cfg.Prefix
	if prefix == "" {
		prefix = "/registry/"
	}
	root := prefix + KeyPrefix(res.GroupResource) + "/"
	s, err := newStore(cfg, res, root, newForms(new(atomic.Uint32)))
	if err != nil {
		return nil, err
	}
	s.objects = cfg.Cache.Resource(cache.ResourceConfig{
		Name: res.GroupResource.String(), Prefix: root, Decode: s.reader.explaining(s.reader.load), Written: s.reader.look, GroupBy: s.groupBy, Since: res.Since,
	})
	if err := s.openDoors(); err != nil {
		return nil, err
	}
	return s, nil
}

// Redeclare makes a Store of the same objects by another declaration: a kind with other versions,
// another schema, another storage version. Nothing changes before Adopt is called on it. Whoever
// still uses s goes on with what s was declared as; watches do not end.
func (s *Store) Redeclare(res Resource) (*Store, error) {
	if res.GroupResource != s.res.GroupResource || res.Namespaced != s.res.Namespaced {
		return nil, fmt.Errorf("registry: %s cannot get another name or scope", s.res.GroupResource)
	}
	if !slices.Equal(groups(s.res.Fields), groups(res.Fields)) {
		return nil, fmt.Errorf("registry: %s cannot change the fields that group its watchers", s.res.GroupResource)
	}
	next, err := newStore(s.cfg, res, s.root, newForms(s.forms.last))
	if err != nil {
		return nil, err
	}
	next.objects, next.redeclared = s.objects, true
	if err := next.openDoors(); err != nil {
		return nil, err
	}
	return next, nil
}

// Through makes a Store of the same objects by a declaration whose kind has another Go type, and
// the same versions and JSON: one that leaves as text what is large and of no concern, say. What
// either makes of an object serves both.
func (s *Store) Through(res Resource) (*Store, error) {
	if res.GroupResource != s.res.GroupResource || res.Namespaced != s.res.Namespaced {
		return nil, fmt.Errorf("registry: %s is not %s", res.GroupResource, s.res.GroupResource)
	}
	other, err := newStore(s.cfg, res, s.root, s.forms)
	if err != nil {
		return nil, err
	}
	other.objects, other.redeclared = s.objects, s.redeclared
	if err := other.openDoors(); err != nil {
		return nil, err
	}
	return other, nil
}

// Adopt has the objects read as s declares them from now on. It is called once, on what Redeclare
// has made, before that is used, and not if it is not going to be.
func (s *Store) Adopt() { s.objects.SetDecode(s.reader.explaining(s.reader.load), s.reader.look) }

// newStore makes a Store without objects.
func newStore(cfg *Config, res Resource, root string, f *forms) (*Store, error) {
	res.complete()
	s := &Store{cfg: cfg, res: res, root: root, forms: f, groupBy: []string{"metadata.name"}}
	for _, f := range groups(res.Fields) {
		s.groupBy = append(s.groupBy, f.Label)
	}
	gk, k := s.groupKind(), res.Type
	if k == nil {
		k = cfg.Kinds.Kind(gk)
	}
	if k == nil || len(k.Versions()) == 0 {
		return nil, fmt.Errorf("registry: the kind %s of %s is not registered", gk, res.GroupResource)
	}
	stored := k.Versions()[0]
	if res.StorageVersion != "" {
		if stored = kind.StoredIn(k, meta.GroupVersion{Group: gk.Group, Version: res.StorageVersion}.String()); stored == nil {
			return nil, fmt.Errorf("registry: %s has no version %q", gk, res.StorageVersion)
		}
	}
	if obj := k.New(); res.fits != nil && !res.fits(obj) {
		return nil, fmt.Errorf("registry: %s is declared for another type than %T, the hub of %s", res.GroupResource, obj, res.Kind)
	}
	s.kind, s.strategy = k, &s.res.Strategy
	var err error
	if s.reader, err = newReader(k, stored, cfg, &s.res, f); err != nil {
		return nil, err
	}
	if s.batch = k.Batch(); s.batch != nil {
		s.conversions = &conversions{running: map[conversion]*converting{}}
	}
	return s, nil
}

// complete fills in what follows from the rest of a declaration. One that is complete, such as that
// of a store, stays as it is.
func (r *ResourceOf[T]) complete() {
	if r.Singular == "" {
		r.Singular = strings.ToLower(r.Kind)
	}
	if r.Strategy.ValidateName == nil {
		r.Strategy.ValidateName = names.DNSSubdomainName
	}
	hasDoor := slices.ContainsFunc(r.Subresources, func(sub SubresourceOf[T]) bool { return sub.Name == statusField })
	if r.Status != nil && r.Reset == nil {
		r.Reset = []string{statusField}
	}
	if st := r.Status; st != nil && !hasDoor {
		reset := st.Reset
		if reset == nil {
			reset = []string{"spec"}
		}
		r.Subresources = append([]SubresourceOf[T]{{
			Name: statusField, Owns: []string{statusField}, Prepare: st.Prepare, Validate: st.Validate, Warnings: st.Warnings,
			Metadata: st.Metadata, Reset: reset,
		}}, r.Subresources...)
	}
}

// groups are the declared fields by which watchers are grouped, beside metadata.name.
func groups(fields []FieldValue) []FieldValue {
	return slices.DeleteFunc(slices.Clone(fields), func(f FieldValue) bool { return !f.Groups })
}

// Under returns the Store as another group offers it: the same objects, shown as the kind of the
// same name there, which must have the same hub.
func (s *Store) Under(group string) (*Store, error) {
	gk := meta.GroupKind{Group: group, Kind: s.res.Kind}
	k := s.cfg.Kinds.Kind(gk)
	if k == nil {
		return nil, fmt.Errorf("registry: the kind %s is not registered", gk)
	}
	if !sameHub(s.kind, k) {
		return nil, fmt.Errorf("registry: %s has the hub %T in its group, and %T in the group %q", s.res.GroupResource, s.kind.New(), k.New(), group)
	}
	u := *s
	u.res.GroupResource.Group = group
	u.kind = k
	u.openOwners(s.reset, s.resetIn)
	u.doors = map[door]*Store{}
	for name, through := range s.doors {
		d := *through
		d.res.GroupResource.Group = group
		if d.project == nil {
			d.kind = k
		}
		d.openOwners(through.reset, through.resetIn)
		u.doors[name] = &d
	}
	return &u, nil
}

// sameHub reports whether two kinds are of the same objects.
func sameHub(a, b kind.Kind) bool { return reflect.TypeOf(a.New()) == reflect.TypeOf(b.New()) }

// Resource returns the declaration of the store.
func (s *Store) Resource() *Resource { return &s.res }

// Describe returns what clients are told of the resource in the version of gvk.
func (s *Store) Describe(gvk meta.GroupVersionKind) meta.Description {
	r := &s.res
	return meta.Description{
		Name: r.GroupResource.Resource, Singular: r.Singular, ListKind: r.ListKind, Kind: gvk,
		Namespaced: r.Namespaced, ShortNames: r.ShortNames, Categories: r.Categories,
		Custom: r.Custom || kind.In(s.kind, gvk.Version).Type == nil, ReturnsDeleted: r.ReturnsDeleted,
	}
}

// groupKind is what errors call the kind of the objects.
func (s *Store) groupKind() meta.GroupKind {
	return meta.GroupKind{Group: s.res.GroupResource.Group, Kind: s.res.Kind}
}

// Kind is what the store shows and takes.
func (s *Store) Kind() kind.Kind { return s.kind }

// StorageVersion is what objects are written as.
func (s *Store) StorageVersion() meta.GroupVersionKind { return s.reader.stored.GVK }

// Objects is the cached state, for controllers and debug pages.
func (s *Store) Objects() *cache.Resource { return s.objects }

// shown is the kind that the store shows to those who address the resource in a version.
func (s *Store) shown(version string) meta.GroupVersionKind {
	if s.fixed != (meta.GroupVersionKind{}) {
		return s.fixed
	}
	gk := s.kind.GroupKind()
	return meta.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind}
}

// Get returns one object. See router.Getter.
func (s *Store) Get(ctx context.Context, namespace, name, resourceVersion string) (request.Encoded, error) {
	obj, err := s.get(ctx, namespace, name, resourceVersion)
	if err != nil {
		return nil, err
	}
	if s.project != nil {
		return s.present(ctx, obj, ToRead)
	}
	return obj, nil
}

func (s *Store) get(ctx context.Context, namespace, name, resourceVersion string) (*cache.Object, error) {
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

// Decode returns the object behind enc, which the Store has given, in the hub of the kind that it
// shows. The caller owns it. The error names the object.
func (s *Store) Decode(ctx context.Context, enc request.Encoded) (meta.Object, error) {
	enc = unwrapped(enc)
	obj, err := s.decode(ctx, enc)
	if err != nil {
		return nil, s.namedError(ctx, enc, err)
	}
	return obj, nil
}

func (s *Store) decode(ctx context.Context, enc request.Encoded) (meta.Object, error) {
	if s.project == nil {
		return s.reader.hub(ctx, enc)
	}
	data, _ := enc.Stored()
	decoded, err := s.kind.Decode(codec.DecodeRequest{Data: data, Shared: true})
	if err != nil {
		return nil, err
	}
	return kind.ToHub(ctx, s.kind, decoded.Object)
}

// now is the time that a try of a write carries.
func (s *Store) now() time.Time { return s.cfg.now() }

func (c *Config) now() time.Time {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return now().UTC().Truncate(time.Second)
}
