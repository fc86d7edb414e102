package scheme

import (
	"errors"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// ConvertTo returns obj in another version of its kind. If gv.Version is InternalVersion, that is
// the hub. Kinds of two groups convert to each other if they have the same hub type. The result has
// the apiVersion of gv. An unversioned object, such as a Status, is returned as it is.
//
// If obj has the right type already, the result is obj itself, provided that its apiVersion and
// kind are right or empty (empty ones are set). Otherwise obj is not changed, and the result shares
// no memory with it.
//
// The error is a *NotRegisteredError if a type or kind is unknown, a *ConversionError if the kinds
// have no common hub, or the error of a registered conversion.
func (s *Scheme) ConvertTo(obj meta.Typed, gv meta.GroupVersion) (meta.Typed, error) {
	if s.IsUnversioned(obj) {
		return obj, nil
	}
	from, err := s.Kind(obj)
	if err != nil {
		return nil, err
	}
	return s.ConvertKind(obj, gv.WithKind(from.Kind))
}

// ConvertKind returns obj as an object of the kind want, by the rules of ConvertTo. If obj is of
// another kind that does not convert to want, the error is a *ConversionError.
func (s *Scheme) ConvertKind(obj meta.Typed, want meta.GroupVersionKind) (meta.Typed, error) {
	t := structType(obj)
	if slices.Contains(s.kinds[t], want) {
		return s.same(obj, want), nil
	}
	from, err := s.Kind(obj)
	if err != nil {
		return nil, err
	}
	target := s.goType(want)
	switch target {
	case nil:
		return nil, &NotRegisteredError{Scheme: s.name, GVK: want}
	case t:
		return obj, nil // obj is of the hub type, which carries no kind
	}
	hub := s.hubOf(want)
	if hub == nil || s.hubOf(from) != hub {
		return nil, &ConversionError{From: from, To: want}
	}
	if t != hub {
		if obj, err = s.convert(obj, t, hub); err != nil {
			return nil, err
		}
	}
	if hub != target {
		if obj, err = s.convert(obj, hub, target); err != nil {
			return nil, err
		}
	}
	s.stamp(obj, want)
	return obj, nil
}

// ToHub returns obj as an object of the hub type of its kind, by the rules of ConvertTo.
func (s *Scheme) ToHub(obj meta.Typed) (meta.Object, error) {
	from, err := s.Kind(obj)
	if err != nil {
		return nil, err
	}
	return s.ToHubKind(obj, from.GroupKind())
}

// ToHubKind returns obj as an object of the hub type of the kind want, by the rules of ConvertTo.
// If obj is of another kind, the error is a *ConversionError.
func (s *Scheme) ToHubKind(obj meta.Typed, want meta.GroupKind) (meta.Object, error) {
	hub, err := s.ConvertKind(obj, meta.GroupVersionKind{Group: want.Group, Version: InternalVersion, Kind: want.Kind})
	if err != nil {
		return nil, err
	}
	object, ok := hub.(meta.Object)
	if !ok {
		return nil, errors.New(want.String() + " has no object metadata")
	}
	return object, nil
}

// FromHub returns an object of a hub type in a version of its kind, by the rules of ConvertTo.
func (s *Scheme) FromHub(obj meta.Object, gv meta.GroupVersion) (meta.Typed, error) {
	return s.ConvertTo(obj, gv)
}

// ConvertFields sets those fields of out that can be derived from in, and leaves the others alone.
// A function that is registered by AddConversion for the same pair of structs calls it first and
// then converts the remaining fields.
func ConvertFields[In, Out any](s *Scheme, in *In, out *Out) error {
	pair := typePair{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	derived := s.derived[pair]
	if derived == nil {
		return errors.New("no conversion is registered from " + pair.in.String() + " to " + pair.out.String())
	}
	return derived()(typeinfo.PointerTo(out), typeinfo.PointerTo(in))
}

// convert converts an object between two types, one of which is the hub of the other.
func (s *Scheme) convert(obj meta.Typed, in, out reflect.Type) (meta.Typed, error) {
	run := s.converters[typePair{in, out}]()
	made := reflect.New(out)
	if err := run(typeinfo.PointerIn(made), typeinfo.PointerIn(reflect.ValueOf(obj))); err != nil {
		return nil, err
	}
	return made.Interface().(meta.Typed), nil
}

// same returns an object that has the right type, with the right apiVersion and kind.
func (s *Scheme) same(obj meta.Typed, want meta.GroupVersionKind) meta.Typed {
	if want.Version == InternalVersion {
		return obj
	}
	switch tm := obj.GetTypeMeta(); {
	case tm.APIVersion == "" && tm.Kind == "":
		tm.SetGroupVersionKind(want)
	case tm.GroupVersionKind() != want:
		obj = typeinfo.Copy(obj)
		obj.GetTypeMeta().SetGroupVersionKind(want)
	}
	return obj
}

// stamp sets apiVersion and kind of a converted object. A hub type that is no version's type has
// neither.
func (s *Scheme) stamp(obj meta.Typed, want meta.GroupVersionKind) {
	if want.Version == InternalVersion {
		want = s.hubKind(want.GroupKind(), structType(obj))
	}
	if want.Version == InternalVersion {
		*obj.GetTypeMeta() = meta.TypeMeta{}
		return
	}
	obj.GetTypeMeta().SetGroupVersionKind(want)
}
