package scheme

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
)

// storedType is a type that AddStored registered, and the kind that its objects are read as.
type storedType struct {
	typ reflect.Type
	of  meta.GroupKind
}

// AddStored registers the type of obj for a version in which the store may have objects, because an
// older server wrote them, but which clients cannot ask for. of is the kind that such objects are
// read as. Its group may differ from that of gvk.
//
// Objects in the version are decoded, completed with the defaults of their Go type, and converted
// to the hub of the kind of. The conversion is derived or registered like that of any version. If
// the version has the same fields, protobuf numbers and defaults as a served version, obj may be of
// the same type. A defined type (type Old v1.New) has the same fields and tags but its own
// defaults.
//
// VersionsOf, KindsOf, AllKinds, ModelKinds and Recognizes do not include the version.
// StoredVersions does.
func (s *Scheme) AddStored(gvk meta.GroupVersionKind, of meta.GroupKind, obj meta.Typed) {
	t, ok := s.structOf(gvk.String(), obj)
	if !ok {
		return
	}
	if old, taken := s.stored[gvk]; taken && old != (storedType{t, of}) {
		s.fail("two stored types for %s: %s of %s and %s of %s", gvk, old.typ, old.of, t, of)
		return
	}
	s.stored[gvk] = storedType{t, of}
	s.markEager(of)
}

// StoredVersions returns the kinds in which objects of the kind gk may be stored, other than those
// of its own group's versions: those of AddStored, and the versions of other groups with the same
// hub. Kinds of gk's own group come first, and preferred versions first.
func (s *Scheme) StoredVersions(gk meta.GroupKind) []meta.GroupVersionKind {
	var list []meta.GroupVersionKind
	for gvk, t := range s.stored {
		if t.of == gk {
			list = append(list, gvk)
		}
	}
	hub := s.hubs[gk]
	for gvk := range s.types {
		if gvk.Kind == gk.Kind && gvk.Group != gk.Group && gvk.Version != InternalVersion &&
			hub != nil && s.hubs[gvk.GroupKind()] == hub {
			list = append(list, gvk)
		}
	}
	own := func(gvk meta.GroupVersionKind) int {
		if gvk.Group == gk.Group {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b meta.GroupVersionKind) int {
		return cmp.Or(own(a)-own(b), cmp.Compare(a.Group, b.Group), CompareVersions(a.Version, b.Version))
	})
	return list
}

// hubOf returns the hub of a kind; for a stored version it is the hub of the kind that its objects
// are read as.
func (s *Scheme) hubOf(gvk meta.GroupVersionKind) reflect.Type {
	if only, ok := s.stored[gvk]; ok {
		return s.hubs[only.of]
	}
	return s.hubs[gvk.GroupKind()]
}

// settleStored maps the types of stored versions to their kinds, and reports mistakes.
func (s *Scheme) settleStored() {
	for _, gvk := range s.sortedStored() {
		only := s.stored[gvk]
		switch {
		case s.types[gvk] != nil:
			s.fail("%s is registered twice: as a version that is served, and by AddStored", gvk)
			continue
		case s.hubs[only.of] == nil:
			s.fail("stored version %s: the kind %s is not registered", gvk, only.of)
			continue
		}
		// A type that is also that of a served version keeps its kind.
		if known := s.kinds[only.typ]; len(known) == 0 || s.types[known[0]] == nil {
			s.kinds[only.typ] = append(known, gvk)
		}
	}
}

// sortedStored returns the kinds of AddStored in a fixed order.
func (s *Scheme) sortedStored() []meta.GroupVersionKind {
	var list []meta.GroupVersionKind
	for gvk := range s.stored {
		list = append(list, gvk)
	}
	slices.SortFunc(list, func(a, b meta.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
