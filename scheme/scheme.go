package scheme

import (
	"fmt"
	"reflect"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// InternalVersion is the version under which hub types are registered.
const InternalVersion = "__internal"

// Scheme maps kinds to Go types, and knows their versions, defaults and conversions. See the package comment for the
// two steps of its life.
type Scheme struct {
	name string
	errs []error // mistakes made while registering
	lazy bool    // within AddLazy
	done bool    // Complete has run

	types       map[meta.GroupVersionKind]reflect.Type
	kinds       map[reflect.Type][]meta.GroupVersionKind // preferred versions first; internal ones of pure hubs only
	unversioned map[reflect.Type]meta.GroupVersionKind
	hubs        map[meta.GroupKind]reflect.Type
	versions    map[string][]string     // by group, in order of registration; sorted by Complete
	priority    map[string][]string     // by group, as stated by SetVersionPriority
	groups      []string                // in order of registration
	eager       map[meta.GroupKind]bool // compiled by Complete, because a version or the hub was not registered by AddLazy
	stored      map[meta.GroupVersionKind]storedType
	mentioned   []meta.GroupVersion // of AddOptions

	defaulting  map[reflect.Type][]func(typeinfo.Pointer)
	needs       map[reflect.Type][][]string // of each function in defaulting
	conversions map[typePair]convertFunc
	labels      map[meta.GroupVersionKind]FieldLabelFunc

	// Made by Complete; compiled by it, or by the first who calls.
	converters map[typePair]func() convertFunc // between spokes and hubs
	derived    map[typePair]func() convertFunc // the derivable part of registered conversions
	defaulter  *typeinfo.Visitor
}

// FieldLabelFunc checks and converts one requirement of a field selector: it returns the label and value to compare
// with, or an error for a label that the kind does not have.
type FieldLabelFunc func(label, value string) (string, string, error)

// New returns a Scheme that knows the kinds which belong to no API group in particular: Status and the discovery
// kinds (unversioned), and Table and PartialObjectMetadata in meta.k8s.io.
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

// SetName sets the name that error messages give the scheme; it is "coracle" by default.
func (s *Scheme) SetName(name string) { s.name = name }

func (s *Scheme) fail(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// open reports whether registration is still possible and remembers the mistake if not.
func (s *Scheme) open(what string) bool {
	if s.done {
		s.fail("%s after Complete", what)
	}
	return !s.done
}

// AddLazy calls add with s. The kinds that it registers are compiled when they are first used, and Complete says nothing
// of mistakes in their tags or conversions: whoever uses such a kind gets an error, or a panic. A test that registers the
// same kinds without AddLazy finds them.
func (s *Scheme) AddLazy(add func(*Scheme)) {
	before := s.lazy
	s.lazy = true
	add(s)
	s.lazy = before
}

// IsLazy reports whether all that is registered of a kind was registered by AddLazy.
func (s *Scheme) IsLazy(gk meta.GroupKind) bool { return !s.eager[gk] }

// AddKnownTypes registers the types of objs in a group version, each under the name of its Go type. With the first
// types of a group version come the kinds that every group version has (ListOptions, WatchEvent and the like).
func (s *Scheme) AddKnownTypes(gv meta.GroupVersion, objs ...meta.Typed) {
	for _, obj := range objs {
		if t, ok := s.structOf(gv.String(), obj); ok {
			s.add(gv.WithKind(t.Name()), t)
		}
	}
}

// AddOptions says that the kinds that every group version has are known in group versions which
// have no other kind here. ModelKinds names them, and nothing else changes.
func (s *Scheme) AddOptions(gvs ...meta.GroupVersion) {
	if s.open("adding options") {
		s.mentioned = append(s.mentioned, gvs...)
	}
}

// AddKnownType registers the type of obj under a kind that differs from its Go name.
func (s *Scheme) AddKnownType(gvk meta.GroupVersionKind, obj meta.Typed) {
	if t, ok := s.structOf(gvk.String(), obj); ok {
		s.add(gvk, t)
	}
}

// AddUnversionedTypes registers types that look the same in every version and never convert, such as Status.
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
		s.note(gvk.GroupKind())
	}
}

// AddHub makes the type of obj the hub of a kind. Without it the hub is the type of the kind's
// preferred version. A hub that is no version has no defaults of its own: Complete refuses defaults
// of structs that only hubs have.
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
	s.note(gk)
}

// structOf returns the struct type that obj points to.
func (s *Scheme) structOf(where string, obj meta.Typed) (reflect.Type, bool) {
	if !s.open("adding a type to " + where) {
		return nil, false
	}
	t := reflect.TypeOf(obj)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		s.fail("%s: %v is no pointer to a struct", where, t)
		return nil, false
	}
	return t.Elem(), true
}

func (s *Scheme) add(gvk meta.GroupVersionKind, t reflect.Type) {
	if gvk.Version == InternalVersion || gvk.Version == "" || gvk.Kind == "" {
		s.fail("%s: %s cannot be registered in this version; hub types are added with AddHub", gvk, t)
		return
	}
	s.addGroupVersion(gvk.GroupVersion())
	s.addOne(gvk, t)
}

func (s *Scheme) addOne(gvk meta.GroupVersionKind, t reflect.Type) {
	s.note(gvk.GroupKind())
	switch old, taken := s.types[gvk]; {
	case !taken:
		s.types[gvk] = t
		s.kinds[t] = append(s.kinds[t], gvk)
	case old != t:
		s.fail("two types for %s: %s and %s", gvk, old, t)
	}
}

// note has Complete compile a kind, unless it is registered by AddLazy.
func (s *Scheme) note(gk meta.GroupKind) {
	if !s.lazy {
		s.eager[gk] = true
	}
}

// addGroupVersion notes a group version and gives it the kinds that all have.
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

// SetVersionPriority states the order of preference of versions of one group, best first. Versions that it does not
// name follow in the usual order: stable before beta before alpha, newer before older.
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

// AddDefaulting registers a function that completes values of type T, which may be a kind or a
// struct below one. It runs for each such value in an object, after the defaults declared in T's
// tags; parents before what they hold; several functions for one type in order of registration. It
// also runs for objects that were stored before it was added, and again when an object is stored:
// it must do nothing to what it has completed.
//
// needs say what fn has to find in a T so that it changes nothing (typeinfo.Need has the grammar):
// "replicas", "!hostNetwork", "apiGroup | kind=ServiceAccount". A server looks for it in the bytes
// of objects that it loads from the store, and leaves those as they are that have it all. To need
// more than fn does is safe. Without needs each object that may hold a T is decoded when it is
// loaded, which takes longer and is right, too. schemetest.Needs tests in a test whether fn needs
// what is said.
func AddDefaulting[T any](s *Scheme, fn func(*T), needs ...string) {
	if !s.open("AddDefaulting") {
		return
	}
	t := reflect.TypeFor[T]()
	s.defaulting[t] = append(s.defaulting[t], func(p typeinfo.Pointer) { fn(typeinfo.As[T](p)) })
	s.needs[t] = append(s.needs[t], needs)
}

// AddConversion registers the conversion of In to Out, kinds or structs below kinds (or any types of fields). It
// replaces the derived one wherever the pair occurs and must fill an empty Out; ConvertFields does the part that can
// be derived. Out must not share memory with In. In is not to be changed. What a function forgets is lost: schemetest tells
// in a test.
func AddConversion[In, Out any](s *Scheme, fn func(*In, *Out) error) {
	if !s.open("AddConversion") {
		return
	}
	pair := typePair{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	if s.conversions[pair] != nil {
		s.fail("two conversions from %s to %s", pair.in, pair.out)
		return
	}
	s.conversions[pair] = func(to, from typeinfo.Pointer) error { return fn(typeinfo.As[In](from), typeinfo.As[Out](to)) }
}

// AddFieldLabels registers the field labels that selectors may use for a kind. Without it these are metadata.name and
// metadata.namespace.
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
