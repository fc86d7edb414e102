package kind

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// This file implements Kind for Go types. The server makes one Types for its Scheme; the registry
// asks it for the kind of each built-in resource.

// Types is a Finder of the kinds whose Go types are registered in a Scheme.
type Types struct {
	scheme *scheme.Scheme
	codecs *codec.Factory
	needs  *codec.Needs

	mu    sync.Mutex
	kinds map[meta.GroupKind]*typed
	// models compiles the schemas of all kinds, so that they share common parts. Guarded by mu.
	models schema.Compiler
}

// NewTypes returns a Finder for the kinds of a complete Scheme.
func NewTypes(s *scheme.Scheme, codecs *codec.Factory) *Types {
	return &Types{scheme: s, codecs: codecs, needs: codec.NewNeeds(s.Needs), kinds: map[meta.GroupKind]*typed{}}
}

// Kind returns the kind made of the Go types that are registered under a name; nil if there are
// none. Repeated calls return the same Kind.
func (t *Types) Kind(gk meta.GroupKind) Kind {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kinds[gk]; k != nil {
		return k
	}
	hub, ok := t.scheme.HubKind(gk)
	if !ok {
		return nil
	}
	k := &typed{Types: t, gk: gk, hub: hub, checks: map[string]func() *checks{}}
	k.rules = sync.OnceValue(func() *rules.TypeRules { return rules.OfType(t.scheme.Type(hub)) })
	for _, gv := range t.scheme.VersionsOf(gk.Group) {
		if gvk := gv.WithKind(gk.Kind); t.scheme.Recognizes(gvk) {
			k.versions = append(k.versions, t.version(gvk))
			k.checks[gvk.Version] = sync.OnceValue(func() *checks { return t.checksOf(gvk, hub) })
		}
	}
	for _, gvk := range t.scheme.StoredVersions(gk) {
		k.stored = append(k.stored, t.version(gvk))
	}
	t.kinds[gk] = k
	return k
}

// CheckRules compiles the CEL rules in the tags of all types, except those of lazy kinds, and
// returns what is wrong with them.
func (t *Types) CheckRules() error {
	var errs []error
	seen := map[*typeinfo.Type]bool{}
	for _, gvk := range t.scheme.AllKinds() {
		hub, ok := t.scheme.HubKind(gvk.GroupKind())
		if !ok || t.scheme.IsLazy(gvk.GroupKind()) {
			continue
		}
		for _, named := range []meta.GroupVersionKind{hub, gvk} {
			typ := t.scheme.Type(named)
			if seen[typ] {
				continue
			}
			seen[typ] = true
			if err := rules.OfType(typ).Err(); err != nil {
				errs = append(errs, fmt.Errorf("rules of %s in %s: %w", gvk.GroupKind(), named.Version, err))
			}
		}
	}
	return errors.Join(errs...)
}

// version returns the description of a kind in one version. Nothing is compiled yet.
func (t *Types) version(gvk meta.GroupVersionKind) *Version {
	typ := sync.OnceValue(func() *typeinfo.Type { return t.scheme.Type(gvk) })
	return &Version{
		GVK:      gvk,
		Type:     typ,
		Lazy:     t.scheme.IsLazy(gvk.GroupKind()),
		Protobuf: t.numbered(gvk),
		Schema:   sync.OnceValue(func() *schema.Schema { return t.schema(typ()) }),
		Needs:    t.needs,
		FieldLabel: func(label, value string) (string, string, error) {
			return t.scheme.FieldLabel(gvk, label, value)
		},
	}
}

// numbered reports whether fields of a kind have protobuf numbers. It reads the tags without
// compiling a descriptor.
func (t *Types) numbered(gvk meta.GroupVersionKind) bool {
	obj, err := t.scheme.NewObject(gvk)
	if err != nil {
		return false
	}
	typ := reflect.TypeOf(obj).Elem()
	for i := range typ.NumField() {
		if typ.Field(i).Tag.Get("pb") != "" {
			return true
		}
	}
	return false
}

// schema compiles the schema of a type.
func (t *Types) schema(typ *typeinfo.Type) *schema.Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.models.Type(typ)
}

// typed is a kind with a Go type for each version.
type typed struct {
	*Types
	gk       meta.GroupKind
	hub      meta.GroupVersionKind
	versions []*Version
	stored   []*Version
	rules    func() *rules.TypeRules // the CEL rules in the tags of the hub
	checks   map[string]func() *checks
}

// checks are the rules in the tags of a version whose Go type is not the hub's.
type checks struct {
	tags  bool // typeinfo.Validate finds something to check
	rules *rules.TypeRules
}

// checksOf returns the checks of a version, nil if it has none or its type is the hub's.
func (t *Types) checksOf(gvk, hub meta.GroupVersionKind) *checks {
	typ := t.scheme.Type(gvk)
	if typ == t.scheme.Type(hub) {
		return nil
	}
	c := checks{tags: typeinfo.Checked(typ), rules: rules.OfType(typ)}
	if !c.tags && c.rules == nil {
		return nil
	}
	return &c
}

func (k *typed) GroupKind() meta.GroupKind { return k.gk }
func (k *typed) Versions() []*Version      { return k.versions }
func (k *typed) Stored() []*Version        { return k.stored }

func (k *typed) New() meta.Object {
	obj, err := k.scheme.NewObject(k.hub)
	if err != nil { // Kind has found the hub
		panic(err)
	}
	return obj.(meta.Object)
}

func (k *typed) Decode(req codec.DecodeRequest) (codec.Decoded, error) { return k.codecs.Decode(req) }

// Prune does nothing: a Go type has no room for unknown fields, so Decode has dropped them.
func (k *typed) Prune(context.Context, meta.Typed) error { return nil }

func (k *typed) Default(_ context.Context, obj meta.Typed) error {
	k.scheme.Default(obj)
	return nil
}

func (k *typed) Convert(_ context.Context, obj meta.Typed, version string) (meta.Typed, error) {
	out, err := k.scheme.ConvertKind(obj, meta.GroupVersionKind{Group: k.gk.Group, Version: version, Kind: k.gk.Kind})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Batch implements Kind. Conversions between Go types are cheap, so there is no batch.
func (k *typed) Batch() func(context.Context, []meta.Typed, string) ([]meta.Typed, error) { return nil }

func (k *typed) Hub(string) string { return scheme.InternalVersion }

// Check implements Kind: it validates by the tags and the CEL rules of the hub, and by those of the
// client's version if its Go type is another one.
func (k *typed) Check(ctx context.Context, obj, old meta.Object, version string) field.ErrorList {
	var before meta.Typed // stays a nil interface if old is nil
	if old != nil {
		before = old
	}
	errs := append(k.scheme.Check(obj, before), k.rules().Validate(ctx, obj, before)...)
	find := k.checks[version]
	if find == nil {
		return errs
	}
	if c := find(); c != nil {
		return k.checkIn(ctx, c, errs, obj, before, version)
	}
	return errs
}

// checkIn adds to errs the errors of an object in a version that has checks of its own. An error
// that the hub has reported with the same text is not repeated.
func (k *typed) checkIn(ctx context.Context, c *checks, errs field.ErrorList, obj, old meta.Typed,
	version string) field.ErrorList {
	obj, err := k.Convert(ctx, obj, version)
	if err == nil && old != nil {
		old, err = k.Convert(ctx, old, version)
	}
	if err != nil {
		return append(errs, field.InternalError(nil, err))
	}
	said := len(errs)
	for _, e := range append(k.scheme.Check(obj, old), c.rules.Validate(ctx, obj, old)...) {
		if !slices.ContainsFunc(errs[:said], func(hub *field.Error) bool { return hub.Error() == e.Error() }) {
			errs = append(errs, e)
		}
	}
	return errs
}

// Append implements Kind. The zero Media gives JSON without a newline, the form that is stored.
func (k *typed) Append(dst []byte, obj meta.Typed, m codec.Media) ([]byte, error) {
	if m == (codec.Media{}) { // without the newline that Append writes
		return codec.AppendJSON(dst, obj)
	}
	return k.codecs.Append(dst, obj, m)
}

// Keeper implements Kind by the descriptor of the hub. If the kind is lazy, the first call of the
// result checks the paths.
func (k *typed) Keeper(paths []string, others bool) (func(obj, old meta.Object), error) {
	made, err := compiled(k, func(t *typeinfo.Type) (func(to, from any), error) {
		keep, err := typeinfo.Keeper(t, paths)
		if err == nil && others {
			keep, err = typeinfo.Keeper(t,
				typeinfo.OtherPaths(t, append(paths[:len(paths):len(paths)], "metadata", "kind", "apiVersion")))
		}
		return keep, err
	})
	if err != nil {
		return nil, err
	}
	return func(obj, old meta.Object) { made()(obj, old) }, nil
}

func (k *typed) Differ(paths []string) (func(a, b meta.Object) bool, error) {
	made, err := compiled(k, func(t *typeinfo.Type) (func(a, b any) bool, error) { return typeinfo.Differ(t, paths) })
	if err != nil {
		return nil, err
	}
	return func(a, b meta.Object) bool { return made()(a, b) }, nil
}

// compiled returns a function that returns make's result for the hub's type. make runs at once, or
// for a lazy kind at the first call.
func compiled[F any](k *typed, make func(hub *typeinfo.Type) (F, error)) (func() F, error) {
	made := sync.OnceValues(func() (F, error) {
		f, err := make(k.scheme.Type(k.hub))
		if err != nil {
			err = fmt.Errorf("%s: %w", k.gk, err)
		}
		return f, err
	})
	if !k.scheme.IsLazy(k.gk) {
		if _, err := made(); err != nil {
			return nil, err
		}
	}
	return func() F {
		f, err := made()
		if err != nil {
			panic(err)
		}
		return f
	}, nil
}
