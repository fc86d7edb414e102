package scheme

import (
	"reflect"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// DeepCopy returns a deep copy of v, which is usually a pointer to an object. It needs no Scheme.
func DeepCopy[T any](v T) T { return typeinfo.Copy(v) }

// Copy returns a deep copy of an object. It needs no Scheme.
func Copy(obj meta.Typed) meta.Typed { return typeinfo.Copy(obj) }

// Equal reports whether two values, objects or parts of objects, mean the same to the API: nil and
// empty lists and maps are equal, quantities are compared by amount and times by instant. It needs
// no Scheme.
func Equal[T any](a, b *T) bool { return typeinfo.Equal(a, b) }

// EqualObjects reports whether two objects mean the same to the API, as Equal does. Objects of
// different types are not equal. It needs no Scheme.
func EqualObjects(a, b meta.Typed) bool { return typeinfo.EqualAny(a, b) }

// Default completes obj in place: it sets the defaults that tags declare and calls the registered
// functions, for the object and all structs in it, outer structs first. It does nothing before
// Complete. For kinds without defaults it costs next to nothing.
func (s *Scheme) Default(obj meta.Typed) {
	rv := reflect.ValueOf(obj)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	if t := typeinfo.Of(rv.Type()); t != nil && s.done {
		s.defaulter.Visit(t, typeinfo.PointerIn(rv))
	}
}

// DropEmpty sets each empty list and map in obj to nil where JSON shows the difference, as a round
// trip through protobuf does. It needs no Scheme.
func DropEmpty(obj meta.Typed) { typeinfo.DropEmpty(obj) }

// Check applies the checks that tags declare to obj and returns what is wrong. old is the object
// before an update, of the same type, or nil for a create.
func (s *Scheme) Check(obj, old meta.Typed) field.ErrorList { return typeinfo.Validate(obj, old) }
