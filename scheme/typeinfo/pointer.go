package typeinfo

import (
	"reflect"
	"unsafe"
)

// A Pointer is the address of a value whose type the holder of the Pointer knows, and Go does not.
// Plans that are compiled from descriptors (to decode, copy, convert) reach memory through Pointers
// only.
//
// Go checks no type when a Pointer is used. The use is safe because of four rules:
//   - A walk begins at a Go pointer. Its type is the type of the plan: the plan was looked up by
//     that type, or compared with it.
//   - A Pointer moves by numbers of the descriptor of that type: offsets of fields, and sizes of
//     elements within the length of their list.
//   - The type at each offset is known when the plan is made. Memory is read and written as that
//     type or as one of the same layout: every string type as string, every pointer as Pointer,
//     every slice as Slice.
//   - Memory is allocated by its Go type. The garbage collector sees a Pointer as a pointer,
//     because it wraps unsafe.Pointer. No address is kept as a number.
//
// The zero Pointer is nil. The compiler inlines the methods below nearly everywhere. It does not
// inline them in a closure whose maker it has inlined; so functions that return closures which run
// often are marked go:noinline.
type Pointer struct{ p unsafe.Pointer }

// PointerTo returns the address of *v.
func PointerTo[T any](v *T) Pointer { return Pointer{unsafe.Pointer(v)} }

// PointerIn returns the address that v holds. v is of a pointer type.
func PointerIn(v reflect.Value) Pointer { return Pointer{v.UnsafePointer()} }

// AddressOf returns the address of v, which must be addressable.
func AddressOf(v reflect.Value) Pointer { return Pointer{unsafe.Pointer(v.UnsafeAddr())} }

// New allocates a zero value of the type and returns its address.
func (t *Type) New() Pointer {
	switch t.Kind { // new is faster than reflect.New
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

// As returns p as a Go pointer to a T. The memory at p must be a T or have its layout.
func As[T any](p Pointer) *T { return (*T)(p.p) }

// InterfaceAt returns an interface value that holds p, with the pointer type of sample: if sample
// holds a *T, the result is (*T)(p). An interface value is a type word and a pointer word, and
// InterfaceAt replaces the pointer word. That saves a lookup of the pointer type in reflection.
func InterfaceAt[I any](sample I, p Pointer) I {
	(*[2]unsafe.Pointer)(unsafe.Pointer(&sample))[1] = p.p
	return sample
}

// Value returns the value of type t at p as an addressable reflect.Value.
func (p Pointer) Value(t reflect.Type) reflect.Value { return reflect.NewAt(t, p.p).Elem() }

// Add returns the address offset bytes after p.
func (p Pointer) Add(offset uintptr) Pointer { return Pointer{unsafe.Add(p.p, offset)} }

// Slot is for a p that is the address of a pointer: the caller may read or set that pointer.
func (p Pointer) Slot() *Pointer { return (*Pointer)(p.p) }

// IsNil reports whether p is nil.
func (p Pointer) IsNil() bool { return p.p == nil }

// A Slice has the memory layout of a Go slice of any type.
type Slice struct {
	Data     Pointer
	Len, Cap int
}

// Slice is for a p that is the address of a slice: the caller may read or set that slice.
func (p Pointer) Slice() *Slice { return (*Slice)(p.p) }

// Elem returns the address of the element at index i, which must be below Cap. size is the size of
// an element in bytes.
func (s *Slice) Elem(i int, size uintptr) Pointer { return s.Data.Add(uintptr(i) * size) }
