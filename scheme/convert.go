package scheme

import (
	"errors"
	"reflect"
	"slices"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// ConvertTo returns obj in another version of its kind; InternalVersion asks for the hub. Kinds of two groups convert
// if they have one hub type. The result carries the apiVersion and kind of gv.
//
// The result is obj itself if it has the right type and the right or no apiVersion and kind (which are then set in
// obj); otherwise it owns all its memory. obj is not changed in that case.
//
// Errors: *NotRegisteredError if a type or kind is unknown, *ConversionError if the kinds have no common hub, or what
// a registered conversion returned.
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

// ConvertKind is ConvertTo a kind that is wanted: if obj is of another kind, the error says so.
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
		return obj, nil // the hub, known by its type
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

// ToHub returns an object as the hub type of its kind; see ConvertTo.
func (s *Scheme) ToHub(obj meta.Typed) (meta.Object, error) {
	from, err := s.Kind(obj)
	if err != nil {
		return nil, err
	}
	return s.ToHubKind(obj, from.GroupKind())
}

// ToHubKind is ToHub for a kind that is wanted: for an object of another kind the error is a *ConversionError. This is
// what the body of a request must satisfy.
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

// FromHub returns a hub object in a version of its kind; see ConvertTo.
func (s *Scheme) FromHub(obj meta.Object, gv meta.GroupVersion) (meta.Typed, error) {
	return s.ConvertTo(obj, gv)
}

// ConvertFields fills out with those fields of in that can be derived, and leaves the others alone. It is for
// functions registered with AddConversion for the same pair of structs, which then do the rest.
func ConvertFields[In, Out any](s *Scheme, in *In, out *Out) error {
	pair := typePair{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	derived := s.derived[pair]
	if derived == nil {
		return errors.New("no conversion is registered from " + pair.in.String() + " to " + pair.out.String())
	}
	return derived()(typeinfo.PointerTo(out), typeinfo.PointerTo(in))
}

// convert converts between a spoke and its hub.
func (s *Scheme) convert(obj meta.Typed, in, out reflect.Type) (meta.Typed, error) {
	run := s.converters[typePair{in, out}]()
	made := reflect.New(out)
	if err := run(typeinfo.PointerIn(made), typeinfo.PointerIn(reflect.ValueOf(obj))); err != nil {
		return nil, err
	}
	return made.Interface().(meta.Typed), nil
}

// same returns an object that needs no conversion, with the right apiVersion and kind.
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

// stamp sets apiVersion and kind of a converted object. A hub type of its own has none.
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
