package scheme

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Questions to a complete Scheme: types of kinds and kinds of types, versions, hubs and field
// labels. All methods only read.

// Name returns the name of the Scheme in error messages.
func (s *Scheme) Name() string { return s.name }

// Recognizes reports whether the kind has a type in its version or, for InternalVersion, a hub.
// Versions that are only stored (AddStored) do not count. Unversioned kinds, such as Status, are
// recognized in every group and version.
func (s *Scheme) Recognizes(gvk meta.GroupVersionKind) bool {
	_, only := s.stored[gvk]
	return !only && s.goType(gvk) != nil
}

// goType returns the type of a kind, nil if it is unknown. Unversioned kinds are found by name, in
// every group and version.
func (s *Scheme) goType(gvk meta.GroupVersionKind) reflect.Type {
	if t := s.types[gvk]; t != nil {
		return t
	}
	if only, ok := s.stored[gvk]; ok {
		return only.typ
	}
	for t, known := range s.unversioned {
		if known.Kind == gvk.Kind {
			return t
		}
	}
	return nil
}

// Type returns the descriptor of the type of a kind, nil if the Scheme does not know the kind.
func (s *Scheme) Type(gvk meta.GroupVersionKind) *typeinfo.Type {
	if t := s.goType(gvk); t != nil {
		return typeinfo.Of(t)
	}
	return nil
}

// NewObject returns a new, empty object of a kind, without apiVersion and kind. The error is a
// *NotRegisteredError for an unknown kind.
func (s *Scheme) NewObject(gvk meta.GroupVersionKind) (meta.Typed, error) {
	t := s.goType(gvk)
	if t == nil {
		return nil, &NotRegisteredError{Scheme: s.name, GVK: gvk}
	}
	obj, ok := reflect.New(t).Interface().(meta.Typed)
	if !ok {
		return nil, fmt.Errorf("%s carries no apiVersion and kind", t) // only WatchEvent
	}
	return obj, nil
}

// Kinds returns the kinds under which the type of obj is registered, those of preferred versions
// first. For a type that is only a hub it returns the internal kind. The error is a
// *NotRegisteredError.
func (s *Scheme) Kinds(obj meta.Typed) ([]meta.GroupVersionKind, error) {
	t := structType(obj)
	if gvk, ok := s.unversioned[t]; ok {
		return []meta.GroupVersionKind{gvk}, nil
	}
	if kinds := s.kinds[t]; len(kinds) > 0 {
		return slices.Clone(kinds), nil
	}
	return nil, &NotRegisteredError{Scheme: s.name, Type: t}
}

// structType returns the type that obj points to, nil if obj is nil.
func structType(obj meta.Typed) reflect.Type {
	t := reflect.TypeOf(obj)
	if t == nil || t.Kind() != reflect.Pointer {
		return t
	}
	return t.Elem()
}

// Kind returns the kind of obj. If its type is registered under several kinds, Kind returns the one
// that apiVersion and kind of obj name or, if they name none of these, the preferred one. The error
// is a *NotRegisteredError.
func (s *Scheme) Kind(obj meta.Typed) (meta.GroupVersionKind, error) {
	t := structType(obj)
	if gvk, ok := s.unversioned[t]; ok {
		return gvk, nil
	}
	kinds := s.kinds[t]
	if len(kinds) == 0 {
		return meta.GroupVersionKind{}, &NotRegisteredError{Scheme: s.name, Type: t}
	}
	if len(kinds) > 1 {
		if said := obj.GetTypeMeta().GroupVersionKind(); slices.Contains(kinds, said) {
			return said, nil
		}
	}
	return kinds[0], nil
}

// IsUnversioned reports whether the type of obj is the same in every version, as that of Status.
func (s *Scheme) IsUnversioned(obj meta.Typed) bool {
	_, ok := s.unversioned[structType(obj)]
	return ok
}

// Groups returns the names of all groups with registered kinds, in the order of registration.
// meta.k8s.io is not among them: its kinds are representations of objects of other groups.
func (s *Scheme) Groups() []string { return slices.Clone(s.groups) }

// VersionsOf returns the versions of a group, preferred ones first, without the internal one.
func (s *Scheme) VersionsOf(group string) []meta.GroupVersion {
	var list []meta.GroupVersion
	for _, v := range s.versions[group] {
		list = append(list, meta.GroupVersion{Group: group, Version: v})
	}
	return list
}

// KindsOf returns the sorted names of all kinds in a group version, including the options and
// WatchEvent, which every group version has.
func (s *Scheme) KindsOf(gv meta.GroupVersion) []string {
	var list []string
	for gvk := range s.types {
		if gvk.GroupVersion() == gv {
			list = append(list, gvk.Kind)
		}
	}
	slices.Sort(list)
	return list
}

// AllKinds returns all kinds in all versions, sorted, without the internal ones. It includes the
// options, WatchEvent, and the unversioned kinds.
func (s *Scheme) AllKinds() []meta.GroupVersionKind {
	return slices.DeleteFunc(s.sortedKinds(), func(gvk meta.GroupVersionKind) bool {
		return gvk.Version == InternalVersion
	})
}

// ModelKinds returns, for the name of each OpenAPI model, the kinds whose schema the model is. The
// kinds are sorted by group, version and name.
func (s *Scheme) ModelKinds() map[string][]meta.GroupVersionKind {
	kinds := map[string][]meta.GroupVersionKind{}
	for gvk, t := range s.types {
		if _, ok := s.versions[gvk.Group]; ok && gvk.Version != InternalVersion {
			name := typeinfo.ModelName(t)
			kinds[name] = append(kinds[name], gvk)
		}
	}
	for _, t := range commonTypes {
		name := typeinfo.ModelName(t)
		for _, gv := range s.mentioned {
			kinds[name] = append(kinds[name], gv.WithKind(t.Name()))
		}
	}
	for _, list := range kinds {
		slices.SortFunc(list, func(a, b meta.GroupVersionKind) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return kinds
}

// HubKind returns the kind of the hub type of gk: in the version whose type the hub is, or in
// InternalVersion if the hub is a type of its own. It reports false for an unknown kind.
func (s *Scheme) HubKind(gk meta.GroupKind) (meta.GroupVersionKind, bool) {
	hub := s.hubs[gk]
	if hub == nil {
		return meta.GroupVersionKind{}, false
	}
	return s.hubKind(gk, hub), true
}

// hubKind returns the kind of the hub type hub of gk; see HubKind.
func (s *Scheme) hubKind(gk meta.GroupKind, hub reflect.Type) meta.GroupVersionKind {
	for _, v := range s.versions[gk.Group] {
		if gvk := (meta.GroupVersionKind{Group: gk.Group, Version: v, Kind: gk.Kind}); s.types[gvk] == hub {
			return gvk
		}
	}
	return meta.GroupVersionKind{Group: gk.Group, Version: InternalVersion, Kind: gk.Kind}
}

// FieldLabel checks and converts one requirement of a field selector for a kind. It returns the
// label and value to compare with.
func (s *Scheme) FieldLabel(gvk meta.GroupVersionKind, label, value string) (string, string, error) {
	if fn := s.labels[gvk]; fn != nil {
		return fn(label, value)
	}
	return MetadataLabels(label, value)
}

// MetadataLabels is the FieldLabelFunc of kinds that registered none: it accepts metadata.name and
// metadata.namespace.
func MetadataLabels(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace":
		return label, value, nil
	}
	return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q",
		label, "metadata.name", "metadata.namespace")
}
