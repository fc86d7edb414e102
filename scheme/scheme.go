package scheme

import (
	"fmt"
	"reflect"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Registration, the first step in the life of a Scheme. Packages of API types call the Add
// functions, usually through a Builder; mistakes are collected in errs and reported by Complete.

// InternalVersion is the version under which hub types are registered. No client can ask for it.
const InternalVersion = "__internal"

// Scheme maps kinds to Go types and knows their versions, defaults and conversions. The package
// comment describes the two steps of its life.
type Scheme struct {
	name string
	errs []error // mistakes made during registration
	lazy bool    // set inside of AddLazy
	done bool    // Complete has run

	types map[meta.GroupVersionKind]reflect.Type
	// Preferred versions first. InternalVersion only for hubs that are no version's type.
	kinds       map[reflect.Type][]meta.GroupVersionKind
	unversioned map[reflect.Type]meta.GroupVersionKind
	hubs        map[meta.GroupKind]reflect.Type
	versions    map[string][]string // by group, in the order of registration; Complete sorts them by preference
	priority    map[string][]string // by group, as SetVersionPriority states it
	groups      []string            // in the order of registration
	// The kinds that Complete compiles, because a version or the hub was registered outside of
	// AddLazy.
	eager     map[meta.GroupKind]bool
	stored    map[meta.GroupVersionKind]storedType
	mentioned []meta.GroupVersion // by AddOptions

	defaulting  map[reflect.Type][]func(typeinfo.Pointer)
	needs       map[reflect.Type][][]string // one element for each function in defaulting
	conversions map[typePair]convertFunc
	labels      map[meta.GroupVersionKind]FieldLabelFunc

	// The rest is made by Complete. Conversions of lazy kinds are compiled by their first use.
	converters map[typePair]func() convertFunc // between spokes and hubs
	derived    map[typePair]func() convertFunc // the derivable part of each registered conversion, for ConvertFields
	defaulter  *typeinfo.Visitor
}

// FieldLabelFunc checks and converts one requirement of a field selector. It returns the label and
// value to compare with, or an error for a label that the kind does not have.
type FieldLabelFunc func(label, value string) (string, string, error)

// New returns a Scheme with the kinds that belong to no particular API group: Status and the
// discovery kinds (unversioned), and Table and PartialObjectMetadata of meta.k8s.io.
func New() *Scheme {
	s := &Scheme{
		name:        "coracle",
		types:       map[meta.GroupVersionKind]reflect.Type{},
		kinds:       map[reflect.Type][]meta.GroupVersionKind{},
		unversioned: map[reflect.Type]meta.GroupVersionKind{},
		hubs:        map[meta.GroupKind]reflect.Type{},
		versions:    map[string][]string{},
		priority:    map[string][]string{},
		eager:       map[meta.GroupKind]bool{},
		stored:      map[meta.GroupVersionKind]storedType{},
		defaulting:  map[reflect.Type][]func(typeinfo.Pointer){},
		needs:       map[reflect.Type][][]string{},
		conversions: map[typePair]convertFunc{},
		labels:      map[meta.GroupVersionKind]FieldLabelFunc{},
	}
	addMetaKinds(s)
	return s
}

// SetName sets the name of the Scheme in error messages; it is "coracle" by default.
func (s *Scheme) SetName(name string) { s.name = name }

// fail notes a mistake, which Complete returns.
func (s *Scheme) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// open reports whether registration is still possible. If it is not, open notes a mistake.
func (s *Scheme) open(what string) bool {
	if s.done {
		s.fail("%s after Complete", what)
	}
	return !s.done
}

// AddLazy calls add with s. The kinds that add registers are compiled when they are first used.
// Complete does not report mistakes in their tags or conversions: the first use of such a kind
// returns an error or panics. A test that registers the same kinds without AddLazy finds the
// mistakes.
func (s *Scheme) AddLazy(add func(*Scheme)) {
	before := s.lazy
	s.lazy = true
	add(s)
	s.lazy = before
}

// IsLazy reports whether every type of the kind was registered inside of AddLazy. It is true for an
// unknown kind, too.
func (s *Scheme) IsLazy(gk meta.GroupKind) bool { return !s.eager[gk] }

// AddKnownTypes registers the types of objs in a group version, each under the name of its Go type.
// The first call for a group version also registers the kinds that every group version has
// (ListOptions, WatchEvent and others).
func (s *Scheme) AddKnownTypes(gv meta.GroupVersion, objs ...meta.Typed) {
	for _, obj := range objs {
		if t, ok := s.structOf(gv.String(), obj); ok {
			s.add(gv.WithKind(t.Name()), t)
		}
	}
}

// AddOptions declares that the options and WatchEvent are also known in group versions that have no
// other kind here. It only adds them to ModelKinds.
func (s *Scheme) AddOptions(gvs ...meta.GroupVersion) {
	if s.open("adding options") {
		s.mentioned = append(s.mentioned, gvs...)
	}
}

// AddKnownType registers the type of obj under a kind whose name differs from that of the Go type.
func (s *Scheme) AddKnownType(gvk meta.GroupVersionKind, obj meta.Typed) {
	if t, ok := s.structOf(gvk.String(), obj); ok {
		s.add(gvk, t)
	}
}

// AddUnversionedTypes registers types that are the same in every version and never convert, such as
// Status.
func (s *Scheme) AddUnversionedTypes(gv meta.GroupVersion, objs ...meta.Typed) {
	for _, obj := range objs {
		t, ok := s.structOf(gv.String(), obj)
		if !ok {
			continue
		}
		gvk := gv.WithKind(t.Name())
		if old, taken := s.types[gvk]; taken && old != t {
			s.fail("two types for %s: %s and %s", gvk, old, t)
			continue
		}
		s.types[gvk] = t
		s.unversioned[t] = gvk
		s.markEager(gvk.GroupKind())
	}
}

// AddHub makes the type of obj the hub of a kind. Without it the hub is the type of the kind's
// preferred version. A hub that is no version's type has no defaults of its own: Complete refuses
// defaults of structs that only hubs have.
func (s *Scheme) AddHub(gk meta.GroupKind, obj meta.Typed) {
	t, ok := s.structOf("hub of "+gk.String(), obj)
	if !ok {
		return
	}
	if old, taken := s.hubs[gk]; taken && old != t {
		s.fail("two hub types for %s: %s and %s", gk, old, t)
		return
	}
	s.hubs[gk] = t
	s.markEager(gk)
}

// structOf returns the struct type that obj points to. where names the registration in a mistake.
func (s *Scheme) structOf(where string, obj meta.Typed) (reflect.Type, bool) {
	if !s.open("adding a type to " + where) {
		return nil, false
	}
	t := reflect.TypeOf(obj)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		s.fail("%s: %v is not a pointer to a struct", where, t)
		return nil, false
	}
	return t.Elem(), true
}

// add registers a type in a version that clients can ask for.
func (s *Scheme) add(gvk meta.GroupVersionKind, t reflect.Type) {
	if gvk.Version == InternalVersion || gvk.Version == "" || gvk.Kind == "" {
		s.fail("%s: %s cannot be registered in this version; hub types are added with AddHub", gvk, t)
		return
	}
	s.addGroupVersion(gvk.GroupVersion())
	s.addOne(gvk, t)
}

// addOne registers one kind.
func (s *Scheme) addOne(gvk meta.GroupVersionKind, t reflect.Type) {
	s.markEager(gvk.GroupKind())
	switch old, taken := s.types[gvk]; {
	case !taken:
		s.types[gvk] = t
		s.kinds[t] = append(s.kinds[t], gvk)
	case old != t:
		s.fail("two types for %s: %s and %s", gvk, old, t)
	}
}

// markEager makes Complete compile a kind, unless AddLazy is running.
func (s *Scheme) markEager(gk meta.GroupKind) {
	if !s.lazy {
		s.eager[gk] = true
	}
}

// addGroupVersion adds a group version together with the kinds that every group version has.
func (s *Scheme) addGroupVersion(gv meta.GroupVersion) {
	known, ok := s.versions[gv.Group]
	if !ok {
		s.groups = append(s.groups, gv.Group)
	}
	for _, v := range known {
		if v == gv.Version {
			return
		}
	}
	s.versions[gv.Group] = append(known, gv.Version)
	for _, t := range commonTypes {
		s.addOne(gv.WithKind(t.Name()), t)
	}
}

// SetVersionPriority states the order of preference of the versions of one group, best first.
// Versions that it does not name follow in the usual order: stable before beta before alpha, newer
// before older.
func (s *Scheme) SetVersionPriority(gvs ...meta.GroupVersion) {
	if len(gvs) == 0 || !s.open("SetVersionPriority") {
		return
	}
	group := gvs[0].Group
	var order []string
	for _, gv := range gvs {
		if gv.Group != group {
			s.fail("SetVersionPriority: groups %q and %q in one call", group, gv.Group)
			return
		}
		order = append(order, gv.Version)
	}
	if s.priority[group] != nil {
		s.fail("SetVersionPriority: the versions of group %q have an order already", group)
		return
	}
	s.priority[group] = order
}

// AddDefaulting registers a function that completes values of type T, which is a kind or a struct
// inside of one. The function runs for each such value in an object, after the defaults in the tags
// of T. Outer structs are completed before inner ones; several functions for one type run in the
// order of registration. fn also runs for objects that were stored before it was registered, and
// again when an object is stored, so it must not change a value that it has completed.
//
// needs state what fn must find in a T so that it changes nothing, in the grammar of typeinfo.Need:
// "replicas", "!hostNetwork", "apiGroup | kind=ServiceAccount". A server checks them in the bytes
// of objects that it loads from the store, and leaves objects that meet all needs undecoded. It is
// safe to state more needs than fn has. Without needs, each object that may contain a T is decoded
// when it is loaded, which is correct but slower. schemetest.Needs checks in a test that the needs
// of fn are complete.
func AddDefaulting[T any](s *Scheme, fn func(*T), needs ...string) {
	if !s.open("AddDefaulting") {
		return
	}
	t := reflect.TypeFor[T]()
	s.defaulting[t] = append(s.defaulting[t], func(p typeinfo.Pointer) { fn(typeinfo.As[T](p)) })
	s.needs[t] = append(s.needs[t], needs)
}

// AddConversion registers the conversion from In to Out, which are kinds, structs inside of kinds,
// or any types of fields. It replaces the derived conversion wherever the pair occurs. fn gets an
// empty Out to fill; ConvertFields does the part that can be derived. fn must not change in, and
// out must not share memory with in. A field that fn forgets is lost; schemetest finds it in a
// test.
func AddConversion[In, Out any](s *Scheme, fn func(*In, *Out) error) {
	if !s.open("AddConversion") {
		return
	}
	pair := typePair{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	if s.conversions[pair] != nil {
		s.fail("two conversions from %s to %s", pair.in, pair.out)
		return
	}
	s.conversions[pair] = func(to, from typeinfo.Pointer) error {
		return fn(typeinfo.As[In](from), typeinfo.As[Out](to))
	}
}

// AddFieldLabels registers the field labels that field selectors may use for a kind. Without it
// these are metadata.name and metadata.namespace.
func (s *Scheme) AddFieldLabels(gvk meta.GroupVersionKind, fn FieldLabelFunc) {
	if !s.open("AddFieldLabels") {
		return
	}
	if s.labels[gvk] != nil {
		s.fail("two field label functions for %s", gvk)
		return
	}
	s.labels[gvk] = fn
}
