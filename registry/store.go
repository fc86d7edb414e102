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

// This file has Store, which serves one resource, and Config, which Stores share. It makes Stores
// from declarations: New for a resource, Redeclare for a changed declaration, Through for another
// Go type, Under for another group; door.go makes those of subresources. Get is here; the other
// verbs are in list.go, create.go, update.go and delete.go. server/generic makes the Stores of a
// server.

// Config is what the Stores over one storage.Store share. It is not changed once a Store was made
// from it.
type Config struct {
	// Kinds finds the kinds that declarations name.
	Kinds kind.Finder
	// Codecs encode objects that belong to no kind in particular, such as PartialObjectMetadata.
	Codecs *codec.Factory
	Cache  *cache.Cache
	// Leases grants the leases of objects that have a TTL.
	Leases Leaser
	// Admission is asked about every write.
	Admission admission.Chain
	// Prefix is where all resources are stored; "" means "/registry/". It ends in "/".
	Prefix string
	// Protobuf stores objects as protobuf if their kind has a protobuf form, else as JSON. Objects
	// in both forms are always readable.
	Protobuf bool
	// DeleteWorkers is how many objects of a collection are deleted at a time, default 1.
	DeleteWorkers int
	// NoGarbageCollection says that no garbage collector runs. A deletion then sets none of the
	// collector's finalizers, whatever propagation policy it asks for, because nobody would remove
	// them.
	NoGarbageCollection bool
	// Unreadable, if set, is called with the error of each object that a Store could not decode.
	// Objects that the cache finds unreadable are reported to the cache's hooks instead.
	Unreadable func(err *storage.Error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Leaser grants leases for objects with a TTL. storage.Leases implements it.
type Leaser interface {
	Get(ctx context.Context, ttl time.Duration) (storage.LeaseID, error)
	// Forget drops a lease that the store reported as unknown, so that Get does not return it
	// again.
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
	// redeclared is set if the cache may hold objects that another declaration has read. The
	// selectable fields that the cache found in those objects may then be wrong (see finds).
	redeclared bool

	// The fields below differ from door to door. kind is the kind that the door shows: the stored
	// kind, the same kind in another group, or a kind of the door's own, such as Scale.
	kind kind.Kind
	// fixed is the version and kind of a door with a kind of its own, whatever the version of the
	// resource.
	fixed       meta.GroupVersionKind
	subresource string // "" for the resource itself
	strategy    *Strategy
	takeBack    func(obj, old meta.Object)      // undoes changes that the door may not make; nil: it may set everything
	empty       func(obj meta.Object)           // clears the status of a new object; nil: clients may bring it
	differ      func(obj, old meta.Object) bool // whether a change counts as a generation; nil: none does
	project     *Projection
	version     string              // the only version of the resource that has the door; "": all have it
	reset       []string            // the fields that no manager can own through the door
	resetIn     map[string][]string // by version, in place of reset; nil: reset counts
	owners      map[string]*owner   // by version

	// batch converts many objects at once; nil: the kind has no converter.
	batch       func(ctx context.Context, objs []meta.Typed, version string) ([]meta.Typed, error)
	conversions *conversions // the calls of batch that run
}

// Stores finds Stores by their resource. Code that reads or writes objects other than its own, such
// as an admission plugin or an action, holds a Stores and asks it at each use, because resources
// come and go while the server runs.
type Stores interface {
	Store(gr meta.GroupResource) *Store
}

// New makes the Store of a resource and registers the resource with the cache. The kind must be
// registered, and the group must contain a dot or be one of Kubernetes' own.
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
		Name: res.GroupResource.String(), Prefix: root, Decode: s.reader.explaining(s.reader.load),
		Written: s.reader.look, GroupBy: s.groupBy, Since: res.Since,
	})
	if err := s.openDoors(); err != nil {
		return nil, err
	}
	return s, nil
}

// Redeclare makes a Store of the same objects by another declaration: a kind with other versions,
// another schema, another storage version. Nothing changes before Adopt is called on the new Store.
// Requests that still use s keep the old declaration, and watches do not end.
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

// Through makes a Store of the same objects by a declaration whose kind has another Go type but the
// same versions and JSON. Such a type can keep as text a part that is large and not needed, as the
// outline of a CustomResourceDefinition does with its schemas. The two Stores share the forms that
// either makes.
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

// Adopt makes the cache read objects by the declaration of s. It is called once, on a Store that
// Redeclare returned, before that Store serves requests. It is not called if the Store is
// discarded.
func (s *Store) Adopt() { s.objects.SetDecode(s.reader.explaining(s.reader.load), s.reader.look) }

// newStore makes a Store that has no cache.Resource and no doors yet.
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
		if stored = kind.StoredIn(k, meta.GroupVersion{
			Group: gk.Group, Version: res.StorageVersion,
		}.String()); stored == nil {
			return nil, fmt.Errorf("registry: %s has no version %q", gk, res.StorageVersion)
		}
	}
	if obj := k.New(); res.fits != nil && !res.fits(obj) {
		return nil, fmt.Errorf(
			"registry: %s is declared for another type than %T, the hub of %s", res.GroupResource, obj, res.Kind,
		)
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

// complete fills in the defaults of a declaration, and adds the status subresource if Status
// declares one. It is idempotent, because Redeclare and Through pass declarations that were
// completed before.
func (r *ResourceOf[T]) complete() {
	if r.Singular == "" {
		r.Singular = strings.ToLower(r.Kind)
	}
	if r.Strategy.ValidateName == nil {
		r.Strategy.ValidateName = names.DNSSubdomainName
	}
	hasDoor := slices.ContainsFunc(r.Subresources, func(sub SubresourceOf[T]) bool { return sub.Name == statusField })
	if r.Status != nil && r.ResetFields == nil {
		r.ResetFields = []string{statusField}
	}
	if st := r.Status; st != nil && !hasDoor {
		reset := st.ResetFields
		if reset == nil {
			reset = []string{"spec"}
		}
		r.Subresources = append([]SubresourceOf[T]{{
			Name: statusField, Owns: []string{statusField}, Prepare: st.Prepare, Validate: st.Validate,
			Warnings: st.Warnings,
			Metadata: st.Metadata, ResetFields: reset,
		}}, r.Subresources...)
	}
}

// groups returns the fields with Groups set, by which the cache groups watchers. Watchers are
// grouped by metadata.name as well.
func groups(fields []FieldValue) []FieldValue {
	return slices.DeleteFunc(slices.Clone(fields), func(f FieldValue) bool { return !f.Groups })
}

// Under returns a Store of the same objects that serves them in another group, as events are served
// in "" and in events.k8s.io. The group must have a kind of the same name with the same hub type.
func (s *Store) Under(group string) (*Store, error) {
	gk := meta.GroupKind{Group: group, Kind: s.res.Kind}
	k := s.cfg.Kinds.Kind(gk)
	if k == nil {
		return nil, fmt.Errorf("registry: the kind %s is not registered", gk)
	}
	if !sameHub(s.kind, k) {
		return nil, fmt.Errorf(
			"registry: %s has the hub %T in its group, and %T in the group %q", s.res.GroupResource, s.kind.New(),
			k.New(), group,
		)
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

// sameHub reports whether two kinds have the same hub type, and so are kinds of the same objects.
func sameHub(a, b kind.Kind) bool { return reflect.TypeOf(a.New()) == reflect.TypeOf(b.New()) }

// Resource returns the declaration of the store.
func (s *Store) Resource() *Resource { return &s.res }

// Describe returns what discovery says about the resource in the version of gvk.
func (s *Store) Describe(gvk meta.GroupVersionKind) meta.Description {
	r := &s.res
	return meta.Description{
		Name: r.GroupResource.Resource, Singular: r.Singular, ListKind: r.ListKind, Kind: gvk,
		Namespaced: r.Namespaced, ShortNames: r.ShortNames, Categories: r.Categories,
		Custom: r.Custom || kind.In(s.kind, gvk.Version).Type == nil, ReturnsDeleted: r.ReturnsDeleted,
	}
}

// groupKind returns the group and kind that errors name.
func (s *Store) groupKind() meta.GroupKind {
	return meta.GroupKind{Group: s.res.GroupResource.Group, Kind: s.res.Kind}
}

// Kind returns the kind that the Store shows and takes: that of the objects, or a door's own.
func (s *Store) Kind() kind.Kind { return s.kind }

// StorageVersion returns the version and kind in which objects are stored.
func (s *Store) StorageVersion() meta.GroupVersionKind { return s.reader.stored.GVK }

// Objects returns the cached objects, for code that needs no more than their keys and bytes, such
// as debug pages.
func (s *Store) Objects() *cache.Resource { return s.objects }

// shown returns the version and kind of the objects that a client sees if it addresses the resource
// in a version.
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

// get reads one object from the cache, as new as resourceVersion demands: "" is the latest state,
// "0" any state, another revision is that state or a later one.
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

// readError is apiError for a read. It also answers a resourceVersion that lies in the future
// (storage.Future) with the 504 that makes clients retry after a second.
func (s *Store) readError(err error, name string, want storage.Revision) error {
	if e := (*storage.Error)(nil); errors.As(err, &e) && e.Kind == storage.Future {
		return meta.NewTooLargeResourceVersion(uint64(want), uint64(e.Rev), 1)
	}
	return s.apiError(err, name)
}

// Decode returns the object that enc encodes, in the hub of Kind. enc must come from this Store.
// The caller owns the object. The error names the object.
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

// now returns the current time in whole seconds, which is the precision of times in metadata.
func (s *Store) now() time.Time { return s.cfg.now() }

func (c *Config) now() time.Time {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return now().UTC().Truncate(time.Second)
}
