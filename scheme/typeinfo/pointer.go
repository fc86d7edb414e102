package typeinfo

import (
	"reflect"
	"unsafe"
)

// A Pointer is the address of a value whose type is known to whoever holds the Pointer, though not
// to Go: plans that are made of descriptors (to decode, copy, convert, ...) work with memory
// through it, and through nothing else.
//
// Go checks no type when a Pointer is used. It is safe because
//   - it begins at a Go pointer, whose type is that of the plan: the plan is looked up by the type,
//     or compared with it;
//   - it moves by what the descriptor of that type says: offsets of fields, sizes of elements,
//     within their bounds;
//   - what is at a place is known when the plan is made. It is read and written as that type, or as
//     one of the same layout: all types made of strings are strings, any pointer is a Pointer, any
//     slice a Slice;
//   - memory is allocated by its type, and the garbage collector sees a Pointer, also in a variable
//     or behind another one, as the pointer that it is. An address is never kept as a number.
//
// The zero Pointer is nil. The compiler inlines what is below nearly everywhere, but not in a
// closure whose maker it has inlined: makers of closures that run often are go:noinline.
type Pointer struct{ p unsafe.Pointer }

// PointerTo returns the address of *v.
func PointerTo[T any](v *T) Pointer { return Pointer{unsafe.Pointer(v)} }

// PointerIn returns the pointer that v, of a pointer type, holds.
func PointerIn(v reflect.Value) Pointer { return Pointer{v.UnsafePointer()} }

// AddressOf returns the address of an addressable value.
func AddressOf(v reflect.Value) Pointer { return Pointer{unsafe.Pointer(v.UnsafeAddr())} }

// New allocates a value of the type.
func (t *Type) New() Pointer {
	switch t.Kind { // Go's own new is quicker
	case String:
		return PointerTo(new(string))
	case Bool:
		return PointerTo(new(bool))
	case Int32:
		return PointerTo(new(int32))
	case Int64:
		return PointerTo(new(int64))
	}
	return PointerIn(reflect.New(t.Go))
}

// As returns p as a Go pointer to what is there.
func As[T any](p Pointer) *T { return (*T)(p.p) }

// Aim returns a value of the interface type I that holds p as a pointer of the type that sample
// holds. An interface value is a type word and a pointer; exchanging the pointer spares reflection
// a lookup of the pointer type.
func Aim[I any](sample I, p Pointer) I {
	(*[2]unsafe.Pointer)(unsafe.Pointer(&sample))[1] = p.p
	return sample
}

// Value returns what is at p, of type t, as an addressable value.
func (p Pointer) Value(t reflect.Type) reflect.Value { return reflect.NewAt(t, p.p).Elem() }

// Add returns the address offset bytes behind p.
func (p Pointer) Add(offset uintptr) Pointer { return Pointer{unsafe.Add(p.p, offset)} }

// Slot returns p as the place of a pointer, to read or set.
func (p Pointer) Slot() *Pointer { return (*Pointer)(p.p) }

// IsNil reports whether p is nil.
func (p Pointer) IsNil() bool { return p.p == nil }

// A Slice is how Go lays out a slice of any type.
type Slice struct {
	Data     Pointer
	Len, Cap int
}

// Slice returns p as the place of a slice.
func (p Pointer) Slice() *Slice { return (*Slice)(p.p) }

// Elem returns the address of the element at index i, which must be below Cap; elements are of the
// given size.
func (s *Slice) Elem(i int, size uintptr) Pointer { return s.Data.Add(uintptr(i) * size) }
