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

// Equal reports whether two values, objects or parts of them, mean the same to the API: empty lists and maps are equal to none,
// quantities by amount, times by instant. It needs no Scheme.
func Equal[T any](a, b *T) bool { return typeinfo.Equal(a, b) }

// EqualObjects is Equal for objects, of whichever type. Those of different types are not equal.
func EqualObjects(a, b meta.Typed) bool { return typeinfo.EqualAny(a, b) }

// Default completes obj in place: the defaults that tags declare and the registered functions, for the object and all
// structs below it, parents first. Before Complete it does nothing. It costs nothing worth mentioning for kinds without defaults.
func (s *Scheme) Default(obj meta.Typed) {
	rv := reflect.ValueOf(obj)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return
	}
	if t := typeinfo.Of(rv.Type()); t != nil && s.done {
		s.defaulter.Visit(t, typeinfo.PointerIn(rv))
	}
}

// DropEmpty sets each empty list or map in obj to nil, as a round trip by protobuf does, where JSON
// shows the difference. It needs no Scheme.
func DropEmpty(obj meta.Typed) { typeinfo.DropEmpty(obj) }

// Check applies the checks that tags declare. old is the object before an update, of the same type, or nil.
func (s *Scheme) Check(obj, old meta.Typed) field.ErrorList { return typeinfo.Validate(obj, old) }
